// Builds the studio into the static files that the Python package ships; the same sources give the same bytes.
//
//     node build.mjs            into src/confide/studio/static
//     node build.mjs FOLDER     elsewhere, to compare

import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import "./types.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const shipped = process.argv[2] ?? `${here}../src/confide/studio/static`;
rmSync(shipped, { recursive: true, force: true });
mkdirSync(shipped, { recursive: true });
execFileSync(process.execPath, [`${here}node_modules/typescript/bin/tsc`, "--noEmit"], { cwd: here, stdio: "inherit" });

// The design of all pages, with a switch besides what the system prefers: <html data-theme="dark">.
const design = {
  name: "design",
  setup(setting) {
    setting.onLoad({ filter: /pages\/design\.css$/ }, ({ path }) => ({
      contents: withSwitch(readFileSync(path, "utf8")),
      loader: "css",
    }));
  },
};

await build({
  bundle: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  minify: true,
  legalComments: "none",
  outdir: shipped,
  absWorkingDir: here,
  plugins: [design],
  // The client of clients/javascript is served beside, as devices everywhere get it: it is not built in.
  external: ["/client/confide.js"],
  entryPoints: ["src/studio.ts", "src/studio.css", "src/take/take.ts", "src/take/take.css", "src/take/offline.ts"],
  entryNames: "[name]",
});
for (const page of ["studio.html", "take/take.html"])
  writeFileSync(`${shipped}/${basename(page)}`, readFileSync(`${here}src/${page}`));

// Languages are files of their own: one more is one more file. English is built in, for pages without a network.
for (const name of readdirSync(`${here}src/take/languages`))
  writeFileSync(`${shipped}/${name}`, readFileSync(`${here}src/take/languages/${name}`));
// What is built in from elsewhere keeps its licence beside it.
const lent = ["lean-qr"].map((name) => `${name}\n\n${readFileSync(`${here}node_modules/${name}/LICENSE`, "utf8")}`);
writeFileSync(`${shipped}/studio.licenses.txt`, lent.join("\n"));

const sizes = readdirSync(shipped).map((name) => [
  name,
  statSync(`${shipped}/${name}`).size,
  gzipSync(readFileSync(`${shipped}/${name}`)).length,
]);
for (const [name, size, packed] of sizes)
  console.log(`${name}: ${size.toLocaleString("en")} bytes, ${packed.toLocaleString("en")} gzipped`);

/** The dark colours twice: where the system prefers them and nobody chose, and where they were chosen. */
function withSwitch(css) {
  const found = css.match(/@media screen and \(prefers-color-scheme: dark\) \{\s*:root \{([^}]*)\}\s*\}/);
  if (!found) throw new Error("design.css has no dark colours where they were");
  const chosen = `:root[data-theme="dark"] { color-scheme: dark; ${found[1]} } :root[data-theme="light"] { color-scheme: light; }`;
  return css.replace(found[0], found[0].replace(":root {", ':root:not([data-theme="light"]) {') + chosen);
}
