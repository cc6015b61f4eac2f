// Builds dist/, one file a module for those who bundle themselves, and the one minified file that the Python package ships.
//
//     node build.mjs            into src/confide/studio/client
//     node build.mjs FOLDER     elsewhere, to compare
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { minify } from "terser";

const here = fileURLToPath(new URL(".", import.meta.url));
const shipped = process.argv[2] ?? `${here}../../src/confide/studio/client`;
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
const { code } = await minify(bundle.outputFiles[0].text, {
  module: true,
  ecma: 2022,
  compress: {
    passes: 4,
    unsafe: true,
    unsafe_arrows: true,
    unsafe_methods: true,
    pure_getters: true,
    keep_fargs: false,
    lhs_constants: false,
    hoist_funs: true,
  },
  mangle: { properties: { builtins: true, regex: new RegExp(`^(${INTERNAL})$`) } },
});
writeFileSync(`${shipped}/confide.js`, `${code}\n`);
// A file to keep things in, for Node: one small module that imports nothing of the other.
writeFileSync(`${shipped}/node.js`, readFileSync(`${here}dist/node.js`));
writeFileSync(
  `${shipped}/node.d.ts`,
  readFileSync(`${here}dist/node.d.ts`, "utf8").replace("./storage.js", "./confide.js"),
);
writeFileSync(`${shipped}/confide.d.ts`, declarations());
const size = gzipSync(readFileSync(`${shipped}/confide.js`), { level: 9 }).length;
console.log(`confide.js: ${code.length.toLocaleString("en")} bytes, ${size.toLocaleString("en")} gzipped`);

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
