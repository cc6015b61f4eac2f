// The shared checks in Node, against the file that is shipped.
import assert from "node:assert/strict";
import { readdir, readFile, stat } from "node:fs/promises";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import * as confide from "../../../src/confide/client/confide.js";
import { run } from "./suite.mjs";

const root = new URL("../../../", import.meta.url);

/** A JSON file of the repository, or the names of a folder's. */
async function read(path) {
  const place = new URL(path, root);
  const found = await stat(place).catch(() => null);
  if (!found || found.isDirectory()) return found ? (await readdir(place)).filter((name) => name.endsWith(".json")) : [];
  return JSON.parse(await readFile(place, "utf8"));
}

test("everything that every platform must do", async () => {
  const done = await run(confide, read);
  console.log(done);
  assert.ok(done["hostile documents"] > 500);
});

test("one small file without dependencies, requests or other randomness", async () => {
  const text = await readFile(new URL("src/confide/client/confide.js", root));
  assert.ok(gzipSync(text, { level: 9 }).length <= 15 * 1024, `${gzipSync(text, { level: 9 }).length} bytes gzipped`);
  for (const word of ["Math.random", "http:", "https:", "import ", "import(", "eval", "Function(", "XMLHttpRequest", "sendBeacon", "WebSocket"]) {
    assert.ok(!text.includes(word), `${word} stands in the build`);
  }
  const { dependencies, sideEffects, type } = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8"));
  assert.deepEqual({ dependencies, sideEffects, type }, { dependencies: undefined, sideEffects: false, type: "module" });
});
