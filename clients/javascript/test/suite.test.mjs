// The shared checks in Node, against the file that is shipped.
import assert from "node:assert/strict";
import { readdir, readFile, stat } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import * as confide from "../../../src/confide/client/confide.js";
import { CHECKS, doubleOf, LONG_CHECKS, run } from "./suite.mjs";

const root = new URL("../../../", import.meta.url);

/** A JSON file of the repository, or the names of a folder's. */
async function read(path) {
  const place = new URL(path, root);
  const found = await stat(place).catch(() => null);
  if (!found || found.isDirectory()) return found ? (await readdir(place)).filter((name) => name.endsWith(".json")) : [];
  return JSON.parse(await readFile(place, "utf8"));
}

test("everything that every platform must do", async () => {
  const done = await run(confide, read, { ...CHECKS, ...LONG_CHECKS });
  console.log(done);
  assert.ok(done["hostile documents"] > 500);
});

test("one small file without dependencies, requests or other randomness", async () => {
  const text = await readFile(new URL("src/confide/client/confide.js", root));
  assert.ok(gzipSync(text, { level: 9 }).length <= 15_000, `${gzipSync(text, { level: 9 }).length} bytes gzipped`);
  for (const word of ["Math.random", "http:", "https:", "import ", "import(", "eval", "Function(", "XMLHttpRequest", "sendBeacon", "WebSocket"]) {
    assert.ok(!text.includes(word), `${word} stands in the build`);
  }
  const { dependencies, sideEffects, type } = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8"));
  assert.deepEqual({ dependencies, sideEffects, type }, { dependencies: undefined, sideEffects: false, type: "module" });
});

test("canonical JSON and fingerprints are those of the vectors, in the modules that make them", async (context) => {
  // Of the sources, for the file that is shipped exports none of it.
  const esbuild = await import("esbuild").catch(() => null);
  if (!esbuild && !process.env.CI) return context.skip("esbuild is not installed (npm ci); CI requires it");
  const stdin = { contents: 'export { canonical, readJson } from "./json.ts"; export { digest } from "./sha256.ts";', resolveDir: fileURLToPath(new URL("../src", import.meta.url)) };
  const { outputFiles } = await esbuild.build({ stdin, bundle: true, format: "esm", write: false });
  const { canonical, digest, readJson } = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`);
  const [numbers, contents] = (await read("vectors/canonical.json")).groups.map(({ cases }) => cases);
  assert.ok(numbers.length > 200 && contents.length > 5);
  for (const { double, canonical: text } of numbers) assert.equal(canonical(doubleOf(double)), text);
  for (const { json, canonical: text, fingerprint } of contents) {
    assert.equal(canonical(JSON.parse(json)), text);
    assert.equal(digest(canonical(JSON.parse(json))), fingerprint);
    if (!/e21|e30/.test(json)) assert.equal(canonical(readJson(json)), text); // numbers past 2^53 it refuses
  }
});
