/** Fields for the values that a survey asks for: by their kind, those that people change. */
import type { AlphabetTable } from "./api.js";
import { field, mark } from "./controls.js";
import { h } from "./dom.js";

type Form = "number" | "text" | "lines" | "date" | "period";

interface Part {
  key: string;
  label: string;
  form: Form;
  help?: string;
}

/** Of each kind what can be changed here; of others the survey file is changed. */
const PARTS: Record<string, Part[]> = {
  integers: [
    { key: "low", label: "From", form: "number" },
    { key: "high", label: "To", form: "number" },
    { key: "unit", label: "Unit", form: "text" },
  ],
  scale: [
    { key: "values", label: "Answers in their order, one a line", form: "lines" },
    { key: "unit", label: "Unit of a step", form: "text" },
  ],
  categories: [{ key: "values", label: "Answers, one a line", form: "lines" }],
  bins: [
    { key: "low", label: "From", form: "number" },
    { key: "high", label: "To", form: "number" },
    { key: "width", label: "In steps of", form: "number" },
    { key: "unit", label: "Unit", form: "text" },
  ],
  grid: [
    { key: "rows", label: "Rows", form: "number" },
    { key: "columns", label: "Columns", form: "number" },
    { key: "spacing", label: "Size of a cell", form: "number" },
    { key: "unit", label: "Unit", form: "text" },
  ],
  places: [
    { key: "south", label: "South", form: "number" },
    { key: "north", label: "North", form: "number" },
    { key: "west", label: "West", form: "number" },
    { key: "east", label: "East", form: "number" },
    { key: "cell", label: "Size of a cell", form: "text" },
  ],
  dates: [
    { key: "first", label: "First day", form: "date" },
    { key: "last", label: "Last day", form: "date" },
    { key: "every", label: "Every", form: "period" },
  ],
};

const PERIODS = ["day", "week", "month", "quarter", "year"];

/** Fields for these values; told of the whole table when one has changed. */
export function valueFields(table: AlphabetTable, change: (table: AlphabetTable) => void): HTMLElement {
  const parts = PARTS[table.kind]?.filter((part) => part.form !== "number" || part.key in table || table.kind !== "bins");
  if (!parts) return h("p", { class: "note" }, "These values are as they are; others are written into the survey file.");
  const controls = parts.map((part) => ({ part, control: controlOf(part, table[part.key]) }));
  // All are read again with each: an end that lay beyond the other is right once the other is moved.
  const reread = (last: Control): void => {
    let now = table;
    let isGood = true;
    for (const { part, control } of controls) {
      const value = read(part, control.value);
      const wrong = troubleOf(part, table.kind, value);
      mark(control, wrong);
      isGood &&= !wrong;
      const { [part.key]: _old, ...rest } = now;
      now = (value === "" ? rest : { ...now, [part.key]: value }) as AlphabetTable;
    }
    const wrong = isGood ? troubleTogether(now) : "";
    if (wrong) mark(last, wrong);
    else if (isGood) change(now);
  };
  const fields = controls.map(({ part, control }) => {
    control.addEventListener("change", () => reread(control));
    return field(`values-${part.key}`, part.label, control, part.help);
  });
  return h("div", { class: `value-fields ${table.kind}` }, ...fields);
}

/** What is wrong with one field, in words; nothing where it is right. */
function troubleOf(part: Part, kind: string, value: unknown): string {
  if (part.form === "lines") return Array.isArray(value) && value.length > 1 ? "" : "At least two answers are needed, one a line.";
  if (part.form === "date") return value === "" ? `${part.label}: a day is needed.` : "";
  if (part.form !== "number") return "";
  const isWhole = kind === "integers" || part.key === "rows" || part.key === "columns";
  if (value === null) return `${part.label}: a number is needed, such as ${isWhole ? "10" : "0.5"}.`;
  if (isWhole && !Number.isSafeInteger(value)) return `${part.label}: a whole number is needed, such as ${Math.round(Number(value)) || 1}.`;
  return ["rows", "columns", "spacing", "width"].includes(part.key) && !(Number(value) > 0) ? `${part.label}: a number above 0 is needed.` : "";
}

/** What is wrong with fields together. */
function troubleTogether(table: AlphabetTable): string {
  for (const [low, high, words] of [["low", "high", "“To” must lie above “From”"], ["south", "north", "“North” must lie above “South”"], ["first", "last", "The last day must come after the first"]] as const) {
    const [begin, end] = [table[low], table[high]];
    if (begin !== undefined && end !== undefined && !(end! > begin!)) return `${words}: at least two values are needed.`;
  }
  if (table.kind === "grid" && Number(table["rows"]) * Number(table["columns"]) < 2) return "At least two cells are needed.";
  return "";
}

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

function controlOf(part: Part, value: unknown): Control {
  if (part.form === "lines") {
    const lines = Array.isArray(value) ? value.map(String) : [];
    return h("textarea", { rows: Math.min(10, Math.max(3, lines.length + 1)), value: lines.join("\n"), spellcheck: "false" });
  }
  if (part.form === "period") return h("select", {}, ...PERIODS.map((name) => h("option", { value: name, selected: name === value }, name)));
  const text = value === undefined || value === null ? "" : String(value);
  if (part.form === "date") return h("input", { type: "date", value: text });
  return h("input", { type: "text", value: text, autocomplete: "off", ...(part.form === "number" ? { inputmode: "decimal", size: 6 } : { size: 8 }) });
}

/** What was typed as the survey's file has it; null where it is none. */
function read(part: Part, text: string): unknown {
  if (part.form === "lines") {
    const lines = text.split("\n").map((line) => line.trim()).filter(Boolean);
    return [...new Set(lines)];
  }
  if (part.form !== "number") return text.trim();
  const value = Number(text.replace(/[,\s_]/g, ""));
  return text.trim() !== "" && Number.isFinite(value) ? value : null;
}

/** How far apart the ends lie, in the values' unit; null where values have no distances. */
export function spanOf(table: AlphabetTable): number | null {
  const at = (key: string): number => Number(table[key]);
  switch (table.kind) {
    case "integers":
    case "bins":
      return at("high") - at("low") || null;
    case "scale":
      return Array.isArray(table["values"]) ? Math.max(1, table["values"].length - 1) : null;
    case "grid":
      return Math.max(at("rows"), at("columns")) * (at("spacing") || 1) || null;
    case "places":
      return (at("north") - at("south")) * 111 || null;
    default:
      return null;
  }
}

/** What distances are in. */
export function unitOf(table: AlphabetTable): string {
  if (table.kind === "places") return "km";
  if (table.kind === "dates") return String(table["every"] ?? "day");
  return typeof table["unit"] === "string" ? table["unit"] : "";
}
