// The shared checks in Node, against the file that is shipped.
import assert from "node:assert/strict";
import { readdir, readFile, stat } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import * as confide from "../../../src/confide/studio/client/confide.js";
import { CHECKS, doubleOf, LONG_CHECKS, run, signed } from "./suite.mjs";

const root = new URL("../../../", import.meta.url);

/** A JSON file of the repository, or the names of a folder's. */
async function read(path) {
  const place = new URL(path, root);
  const found = await stat(place).catch(() => null);
  if (!found || found.isDirectory())
    return found ? (await readdir(place)).filter((name) => name.endsWith(".json")) : [];
  return JSON.parse(await readFile(place, "utf8"));
}

test("everything that every platform must do", async () => {
  const done = await run(confide, read, { ...CHECKS, ...LONG_CHECKS });
  console.log(done);
  assert.ok(done["hostile documents"] > 500);
});

test("one file without dependencies, requests or other randomness", async () => {
  const text = await readFile(new URL("src/confide/studio/client/confide.js", root));
  for (const word of [
    "Math.random",
    "http:",
    "https:",
    "import ",
    "import(",
    "eval",
    "Function(",
    "XMLHttpRequest",
    "sendBeacon",
    "WebSocket",
  ]) {
    assert.ok(!text.includes(word), `${word} stands in the build`);
  }
  const { dependencies, sideEffects, type } = JSON.parse(
    await readFile(new URL("../package.json", import.meta.url), "utf8"),
  );
  assert.deepEqual(
    { dependencies, sideEffects, type },
    { dependencies: undefined, sideEffects: false, type: "module" },
  );
});

/** Exports of the sources, for the file that is shipped exports none of it; null where esbuild is not installed. */
async function sources(context, contents) {
  const esbuild = await import("esbuild").catch(() => null);
  if (!esbuild && !process.env.CI) return context.skip("esbuild is not installed (npm ci); CI requires it");
  const stdin = { contents, resolveDir: fileURLToPath(new URL("../src", import.meta.url)) };
  const { outputFiles } = await esbuild.build({ stdin, bundle: true, format: "esm", write: false });
  return import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`);
}

test("a page's first bytes are as likely as any, and none is refused", async () => {
  // A new instance of the module for each, as every page that is loaded has one.
  const text = encodeURIComponent(await readFile(new URL("src/confide/studio/client/confide.js", root), "utf8"));
  const own = globalThis.crypto;
  try {
    for (let first = 0; first < 256; first++) {
      const { newSecret } = await import(`data:text/javascript,${text}//${first}`);
      let calls = 0;
      const begun = (block) => {
        own.getRandomValues(block);
        if (!calls++) block[0] = block[16] = first; // whichever of them is taken first
        return block;
      };
      Object.defineProperty(globalThis, "crypto", {
        value: { getRandomValues: begun },
        configurable: true,
        writable: true,
      });
      assert.equal(newSecret().slice(0, 2), first.toString(16).padStart(2, "0"));
    }
  } finally {
    Object.defineProperty(globalThis, "crypto", { value: own, configurable: true, writable: true });
  }
});

test("the first report of a page has the distribution of any other", async (context) => {
  const made = await sources(context, 'export { secureBits } from "./bits.ts"; export { Survey } from "./survey.ts";');
  if (!made) return;
  const RUNS = 256 * 80;
  const chiSquare = (found, expected) =>
    expected.reduce((sum, one, place) => sum + ((found[place] ?? 0) - one) ** 2 / one, 0);
  const bytes = new Array(256).fill(0);
  const reports = {};
  const text = await signed({
    alphabet: { kind: "categories", values: ["a", "b"] },
    mechanism: { kind: "rappor", epsilon: 6 },
  });
  let drawn = [];
  let bits;
  const octet = () => (drawn.push(bits.octet()), drawn.at(-1));
  const survey = new made.Survey(text, null, { octet });
  for (let run = 0; run < RUNS; run++) {
    [bits, drawn] = [made.secureBits(), []];
    const { data } = survey.blur("a");
    bytes[drawn[0]]++;
    reports[data] = (reports[data] ?? 0) + 1;
  }
  assert.ok(bytes.every(Boolean), "a first byte never comes");
  assert.ok(
    chiSquare(
      bytes,
      bytes.map(() => RUNS / 256),
    ) < 400,
    "255 degrees of freedom: by chance once in 1e7",
  );
  const flip = 1 / (1 + Math.exp(3));
  const expected = { 10: (1 - flip) ** 2, 11: (1 - flip) * flip, "00": flip * (1 - flip), "01": flip * flip };
  const names = Object.keys(expected);
  const distance = chiSquare(
    names.map((name) => reports[name]),
    names.map((name) => RUNS * expected[name]),
  );
  assert.ok(distance < 35, `${distance} at 3 degrees of freedom: by chance once in 1e7`);
});

test("canonical JSON and fingerprints are those of the vectors, in the modules that make them", async (context) => {
  const made = await sources(
    context,
    'export { canonical, readJson } from "./json.ts"; export { digest } from "./sha256.ts";',
  );
  if (!made) return;
  const { canonical, digest, readJson } = made;
  const [numbers, contents] = (await read("vectors/canonical.json")).groups.map(({ cases }) => cases);
  assert.ok(numbers.length > 200 && contents.length > 5);
  for (const { double, canonical: text } of numbers) assert.equal(canonical(doubleOf(double)), text);
  for (const { json, canonical: text, fingerprint } of contents) {
    assert.equal(canonical(JSON.parse(json)), text);
    assert.equal(digest(canonical(JSON.parse(json))), fingerprint);
    if (!/e21|e30/.test(json)) assert.equal(canonical(readJson(json)), text); // numbers past 2^53 it refuses
  }
});
