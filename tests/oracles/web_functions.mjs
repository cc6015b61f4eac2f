// Functions of web/src by name, for test_web_and_python.py.
//
//     node web_functions.mjs BUNDLE WEB CLIENT    bundles what standard input exports
//     node web_functions.mjs BUNDLE               calls: cases on standard input, answers on standard output
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [bundle, folder, client] = process.argv.slice(2);
const given = readFileSync(0, "utf8");
if (folder) {
  const served = { name: "served", setup: (made) => made.onResolve({ filter: /^.client.confide.js$/ }, () => ({ path: client })) };
  await createRequire(`${folder}/package.json`)("esbuild").build({
    stdin: { contents: given, resolveDir: folder, loader: "ts" },
    bundle: true,
    format: "esm",
    platform: "node",
    outfile: bundle,
    plugins: [served],
  });
  process.exit();
}

const memory = new Map();
globalThis.localStorage = globalThis.sessionStorage = {
  getItem: (key) => memory.get(key) ?? null,
  setItem: (key, value) => void memory.set(key, String(value)),
  removeItem: (key) => void memory.delete(key),
};
// Whatever is made of a page while its modules load: nothing looks at it.
const nothing = new Proxy(() => nothing, {
  get: (_, name) => (name === Symbol.iterator ? [][Symbol.iterator].bind([]) : name === Symbol.toPrimitive ? () => "" : nothing),
  set: () => true,
  apply: () => nothing,
  construct: () => nothing,
});
globalThis.document = globalThis.window = nothing;
globalThis.Node = globalThis.HTMLElement = class {};
globalThis.location = { pathname: "/take/none", hash: "" };

const web = await import(pathToFileURL(bundle).href);
const whole = {
  /** All that a row of values is made of. */
  row: (alphabet) => {
    const row = web.rowOf(alphabet);
    if (!row) return null;
    const every = Array.from({ length: row.size }, (_, index) => index);
    return {
      size: row.size,
      low: row.low,
      labels: every.map(row.label),
      raws: every.map(row.raw),
      typed: row.typed && every.map((index) => row.typed.index(String(row.raw(index)))),
    };
  },
};
const cases = JSON.parse(given);
console.log(JSON.stringify(cases.map(([name, ...parts]) => (whole[name] ?? web[name])(...parts) ?? null)));
