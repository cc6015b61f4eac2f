/** Fields for the values that a survey asks for: by their kind, those that people change. */
import type { AlphabetTable } from "../shared/api.js";
import { h } from "../shared/dom.js";
import { attributeFields } from "./attributes.js";
import { field, mark } from "./controls.js";

type Form = "number" | "text" | "lines" | "date" | "period" | "edges";

interface Part {
  key: string;
  label: string;
  form: Form;
  help?: string;
}

const UNIT: Part = { key: "unit", label: "Unit", form: "text" };

/** Parts that are all numbers, by their names. */
function numbers(names: Record<string, string>): Part[] {
  return Object.entries(names).map(([key, label]) => ({ key, label, form: "number" }));
}

const EDGES: Part = {
  key: "edges",
  label: "Where ranges begin, and the end",
  form: "edges",
  help: "In rising order: 0, 18, 30, 45, 65, 90. A + after the last number, such as 65+, adds a range without an end.",
};

/** Of each kind what can be changed here; of others the survey file is changed. */
const PARTS: Record<string, Part[]> = {
  integers: [...numbers({ low: "From", high: "To" }), UNIT],
  scale: [
    { key: "values", label: "Answers in their order, one a line", form: "lines" },
    { ...UNIT, label: "Unit of a step" },
  ],
  categories: [{ key: "values", label: "Answers, one a line", form: "lines" }],
  bins: [...numbers({ low: "From", high: "To", width: "In steps of" }), UNIT],
  ranges: [EDGES, UNIT],
  grid: [...numbers({ rows: "Rows", columns: "Columns", spacing: "Size of a cell" }), UNIT],
  places: [
    ...numbers({ south: "South", north: "North", west: "West", east: "East" }),
    { key: "cell", label: "Size of a cell", form: "text" },
  ],
  dates: [
    { key: "first", label: "First day", form: "date" },
    { key: "last", label: "Last day", form: "date" },
    { key: "every", label: "Every", form: "period" },
  ],
};

const PERIODS = ["day", "week", "month", "quarter", "year"];

/** Fields for these values; told of the whole table when one has changed. `prefix` begins the ids of fields. */
export function valueFields(
  table: AlphabetTable,
  change: (table: AlphabetTable) => void,
  prefix = "values",
): HTMLElement {
  if (table.kind === "attributes") return attributeFields(table, change);
  const form = table.kind === "bins" && "edges" in table ? "ranges" : table.kind;
  const parts = PARTS[form];
  if (!parts)
    return h("p", { class: "note" }, "These values are as they are; others are written into the survey file.");
  const controls = parts.map((part) => ({ part, control: controlOf(part, table) }));
  // All are read again with each: an end that lay beyond the other is right once the other is moved.
  const reread = (last: Control): void => {
    let now = table;
    let isGood = true;
    for (const { part, control } of controls) {
      const value = read(part, control.value);
      const wrong = troubleOf(part, table.kind, value);
      mark(control, wrong);
      isGood &&= !wrong;
      now = withPart(now, part, value, control.value);
    }
    const wrong = isGood ? troubleTogether(now) : "";
    if (wrong) mark(last, wrong);
    else if (isGood) change(now);
  };
  const fields = controls.map(({ part, control }) => {
    control.addEventListener("change", () => reread(control));
    return field(`${prefix}-${part.key}`, part.label, control, part.help);
  });
  return h("div", { class: `value-fields ${form}` }, ...fields);
}

/** The table with one part anew; a part that is empty is left out, and takes its default. */
function withPart(table: AlphabetTable, part: Part, value: unknown, text: string): AlphabetTable {
  const { [part.key]: _old, ...rest } = table;
  const now = (value === "" ? rest : { ...table, [part.key]: value }) as AlphabetTable;
  if (part.form !== "edges") return now;
  const { above: _above, ...closed } = now;
  return text.trim().endsWith("+") ? ({ ...closed, above: true } as AlphabetTable) : (closed as AlphabetTable);
}

/** What is wrong with one field, in words; nothing where it is right. */
function troubleOf(part: Part, kind: string, value: unknown): string {
  if (part.form === "lines")
    return Array.isArray(value) && value.length > 1 ? "" : "At least two answers are needed, one a line.";
  if (part.form === "edges")
    return value === null ? "Numbers in rising order are needed, such as 0, 18, 30, 45, 65, 90." : "";
  if (part.form === "date") return value === "" ? `${part.label}: a day is needed.` : "";
  if (part.form !== "number") return "";
  const isWhole = kind === "integers" || part.key === "rows" || part.key === "columns";
  if (value === null) return `${part.label}: a number is needed, such as ${isWhole ? "10" : "0.5"}.`;
  if (isWhole && !Number.isSafeInteger(value))
    return `${part.label}: a whole number is needed, such as ${Math.round(Number(value)) || 1}.`;
  return ["rows", "columns", "spacing", "width"].includes(part.key) && !(Number(value) > 0)
    ? `${part.label}: a number above 0 is needed.`
    : "";
}

/** What is wrong with fields together. */
function troubleTogether(table: AlphabetTable): string {
  for (const [low, high, words] of [
    ["low", "high", "“To” must lie above “From”"],
    ["south", "north", "“North” must lie above “South”"],
    ["first", "last", "The last day must come after the first"],
  ] as const) {
    const [begin, end] = [table[low], table[high]];
    if (begin !== undefined && end !== undefined && !(end! > begin!))
      return `${words}: at least two values are needed.`;
  }
  const edges = table["edges"];
  if (Array.isArray(edges) && edges.length - 1 + Number(table["above"] === true) + Number(table["below"] === true) < 2)
    return "At least two ranges are needed.";
  if (table.kind === "grid" && Number(table["rows"]) * Number(table["columns"]) < 2)
    return "At least two cells are needed.";
  return "";
}

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

function controlOf(part: Part, table: AlphabetTable): Control {
  const value = table[part.key];
  if (part.form === "lines") {
    const lines = Array.isArray(value) ? value.map(String) : [];
    return h("textarea", {
      rows: Math.min(10, Math.max(3, lines.length + 1)),
      value: lines.join("\n"),
      spellcheck: "false",
    });
  }
  if (part.form === "period")
    return h("select", {}, ...PERIODS.map((name) => h("option", { value: name, selected: name === value }, name)));
  if (part.form === "edges")
    return h("input", {
      type: "text",
      value: `${(value as number[]).join(", ")}${table["above"] === true ? "+" : ""}`,
      autocomplete: "off",
      spellcheck: "false",
    });
  const text = value === undefined || value === null ? "" : String(value);
  if (part.form === "date") return h("input", { type: "date", value: text });
  return h("input", {
    type: "text",
    value: text,
    autocomplete: "off",
    ...(part.form === "number" ? { inputmode: "decimal", size: 6 } : { size: 8 }),
  });
}

/** What was typed as the survey's file has it; null where it is none. */
function read(part: Part, text: string): unknown {
  if (part.form === "lines") {
    const lines = text
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean);
    return [...new Set(lines)];
  }
  if (part.form === "edges") {
    const found = text
      .replace(/\+\s*$/, "")
      .split(/[,;\s]+/)
      .filter(Boolean)
      .map(Number);
    return found.length > 0 &&
      found.every((edge, index) => Number.isFinite(edge) && (index === 0 || edge > found[index - 1]!))
      ? found
      : null;
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
      return (
        (Array.isArray(table["edges"])
          ? Number(table["edges"].at(-1)) - Number(table["edges"][0])
          : at("high") - at("low")) || null
      );
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
