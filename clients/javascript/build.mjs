// Builds dist/, one file a module for those who bundle themselves, and the one minified file that the Python package ships.
//
//     node build.mjs            into src/confide/client
//     node build.mjs FOLDER     elsewhere, to compare
//     node build.mjs --order    looks for a better order of functions first, for a minute, and keeps it in order.json
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { minify } from "terser";
import ts from "typescript";

const here = fileURLToPath(new URL(".", import.meta.url));
const isOrdering = process.argv[2] === "--order";
const shipped = (!isOrdering && process.argv[2]) || `${here}../../src/confide/client`;
mkdirSync(shipped, { recursive: true });
rmSync(`${here}dist`, { recursive: true, force: true });
execFileSync(process.execPath, [`${here}node_modules/typescript/bin/tsc`], { cwd: here, stdio: "inherit" });

const bundle = await build({
  bundle: true,
  format: "esm",
  target: "es2022",
  platform: "neutral",
  minifySyntax: true,
  minifyWhitespace: true,
  write: false,
  absWorkingDir: here,
  entryPoints: ["src/index.ts"],
});
// Properties that no caller sees, and that no JSON has, get short names.
const INTERNAL =
  "alphabet|alphabets|positions|isTrue|hasHoles|columns|rows|first|steps|shape|table|place|whole|positive|flag|list|build|finish|octet|fresh|" +
  "digits|byHalf|byOctet|byWord|twoSided|tail|draw|report|low|high|bad|keep|flip|number|text|holes|point|settings|distances|optional|accept|locate|caption|content|numbers|again|bits|pieces|all|box|states|each|alike|weights|isSteady";
const nameCache = {};
const { code: minified } = await minify(bundle.outputFiles[0].text, {
  module: true,
  ecma: 2022,
  compress: { passes: 4, unsafe: true, unsafe_arrows: true, unsafe_methods: true, pure_getters: true, keep_fargs: false, lhs_constants: false, hoist_funs: true },
  mangle: { properties: { builtins: true, regex: new RegExp(`^(${INTERNAL})$`) } },
  nameCache,
});
const code = ordered(minified, nameCache);
writeFileSync(`${shipped}/confide.js`, `${code}\n`);
// A file to keep things in, for Node: one small module that imports nothing of the other.
writeFileSync(`${shipped}/node.js`, readFileSync(`${here}dist/node.js`));
writeFileSync(`${shipped}/confide.d.ts`, declarations());
const size = gzipSync(readFileSync(`${shipped}/confide.js`), { level: 9 }).length;
console.log(`confide.js: ${code.length.toLocaleString("en")} bytes, ${size.toLocaleString("en")} gzipped`);

/**
 * The same with its functions, and the entries of its long tables, in the order of order.json, by their names in the sources:
 * gzip finds more of what they have in common where it is near. They may stand anywhere; what the file does not name comes last.
 */
function ordered(code, { vars }) {
  const named = new Map(Object.entries(vars.props).map(([name, short]) => [short, name.slice(1)]));
  const lists = [[]]; // functions, then the entries of each table
  const pieces = [""]; // what stands behind each
  for (const one of ts.createSourceFile("confide.js", code, ts.ScriptTarget.ES2022).statements) {
    let start = one.pos;
    if (ts.isFunctionDeclaration(one)) lists[0].push([named.get(one.name.text), code.slice(one.pos, one.end)]);
    else {
      for (const { initializer } of one.declarationList?.declarations ?? []) {
        const entries = initializer && ts.isObjectLiteralExpression(initializer) ? initializer.properties : [];
        if (entries.length < 9) continue;
        pieces[pieces.length - 1] += code.slice(start, entries.pos);
        lists.push(entries.map((entry) => [entry.name.text, code.slice(entry.pos, entry.end)]));
        pieces.push("");
        start = entries.end;
      }
      pieces[pieces.length - 1] += code.slice(start, one.end);
    }
  }
  const order = JSON.parse(readFileSync(`${here}order.json`, "utf8"));
  const place = ([name]) => (order.includes(name) ? order.indexOf(name) : order.length);
  for (const list of lists) list.sort((one, other) => place(one) - place(other));
  const text = (all) => all.map((list, index) => list.map(([, body]) => body).join(index ? "," : "") + pieces[index]).join("");
  if (!isOrdering) return text(lists);
  let best = lists;
  const size = (all) => gzipSync(text(all), { level: 9 }).length;
  for (let least = size(best), end = Date.now() + 60_000; Date.now() < end; ) {
    const tried = best.map((list) => [...list]);
    const list = tried[Math.floor(Math.random() * 1.5 * tried.length)] ?? tried[0];
    const moved = list.splice(Math.random() * list.length, 1 + Math.random() * 2);
    list.splice(Math.random() * (list.length + 1), 0, ...moved);
    const found = size(tried);
    if (found <= least) [best, least] = [tried, found];
  }
  writeFileSync(`${here}order.json`, `${JSON.stringify(best.flat().map(([name]) => name), null, 1)}\n`);
  return text(best);
}

/** All declarations in one file, of which only the public ones are exported. */
function declarations() {
  const files = readdirSync(`${here}dist`).filter((name) => name.endsWith(".d.ts") && !/^(index|node)\./.test(name));
  const bodies = files.sort().map((name) =>
    readFileSync(`${here}dist/${name}`, "utf8")
      .replace(/^import [^;]*;\n/gm, "")
      .replace(/^export \{\};\n/gm, "")
      .replace(/^export (?=declare|interface|type|abstract)/gm, "")
      .replace(/^(?=class|function|const )/gm, "declare "),
  );
  const names = readFileSync(`${here}dist/index.d.ts`, "utf8").replace(/ from "[^"]*"/g, "");
  return `${bodies.join("")}${names}`;
}
