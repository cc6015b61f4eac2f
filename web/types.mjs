// Makes the types of what the server sends: schema.toml in, src/shared/schema.ts out. `node types.mjs --check` compares.
import { readFileSync, writeFileSync } from "node:fs";

const [source, made] = ["./schema.toml", "./src/shared/schema.ts"].map((path) => new URL(path, import.meta.url));
const lines = ["// Made by types.mjs from schema.toml, which Python's tests check as well: change it there."];
let isOpen = false;
for (const line of readFileSync(source, "utf8").split("\n").slice(4)) {
  const [, about, name, key, type] = line.match(/^(?:# (.*)|\[(\w+)\]|"?([^"]*?)"? = "(.*)")$/) ?? [];
  if (line === "" && isOpen) {
    lines.push("}");
    isOpen = false;
  } else if (about) lines.push(`${isOpen ? "  " : ""}/** ${about} */`);
  else if (name) {
    lines.push(`export interface ${name} {`);
    isOpen = true;
  } else if (key) lines.push(`  ${key}: ${type.replaceAll("'", '"')};`);
  else if (line) throw new Error(`schema.toml has a line that is none: ${line}`);
}
const text = `${lines.join("\n")}\n`;
if (!process.argv.includes("--check")) writeFileSync(made, text);
else if (readFileSync(made, "utf8") !== text) throw new Error("src/shared/schema.ts is old: node types.mjs");
