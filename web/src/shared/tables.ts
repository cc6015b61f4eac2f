/** What a survey's table of values says: how they are called, what `take` reads for each, and reports in words. */
import type { AlphabetTable } from "./api.js";
import { degree, digitsOf, fromCorner } from "./ground.js";
import { language, t } from "./texts.js";

export type Place = [x: number, y: number];

/** Values in a row: what each is called, and what `take` reads for it. */
export interface Row {
  size: number;
  label(index: number): string;
  raw(index: number): unknown;
  /** How reports number the first value. */
  low: number;
  /** A field beside the slider, for whoever would rather type. */
  typed: { type: "number" | "time"; step: string; min?: string; max?: string; index(text: string): number } | null;
}

const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/** The days of the week in the language that is spoken, from Monday on. */
function weekdays(): string[] {
  const format = new Intl.DateTimeFormat(language(), { weekday: "long", timeZone: "UTC" });
  return WEEKDAYS.map((_, index) => format.format(Date.UTC(2024, 0, 1 + index)));
}

/** A value or a report as a person reads it. */
export function inWords(alphabet: AlphabetTable, data: unknown): string {
  if (alphabet.kind === "attributes") {
    const found = partsOf(alphabet, data);
    return found
      ? found.map(({ name, alphabet: own, part }) => `${name}: ${inWords(own, part)}`).join("; ")
      : JSON.stringify(data);
  }
  const row = rowOf(alphabet);
  if (row && typeof data === "string" && alphabet.kind !== "categories" && /^[01]+$/.test(data))
    return bitsInWords(row, data);
  if (row && typeof data === "string" && data.length === row.size && /^[01]+$/.test(data) && !isValue(alphabet, data))
    return bitsInWords(row, data);
  if (alphabet.kind === "grid" && Array.isArray(data)) return cellInWords(alphabet, Number(data[0]), Number(data[1]));
  if (alphabet.kind === "places" && Array.isArray(data))
    return placeInWords(alphabet, Number(data[0]), Number(data[1]));
  if (Array.isArray(data))
    return data.map((part) => (typeof part === "number" ? Number(part.toFixed(5)) : String(part))).join(", ");
  if (typeof data === "number" && row && alphabet.kind !== "categories") return numberInWords(alphabet, row, data);
  return String(data);
}

/** A cell of a plane: how far from the corner it lies, or its row and column where cells have no size. */
export function cellInWords(alphabet: AlphabetTable, row: number, column: number): string {
  const [low, left] = boxOf(alphabet).first;
  return (
    fromCorner([row - low, column - left], numberOf(alphabet, "spacing", 1), textOf(alphabet, "unit", "") || null) ||
    t("cell", { row: String(row), column: String(column) })
  );
}

/** Where a report lies in the unit square, held to its edges. */
export function placeOf(alphabet: AlphabetTable, data: unknown): Place | null {
  const hold = (share: number): number => Math.min(1, Math.max(0, share));
  if ((alphabet.kind === "grid" || alphabet.kind === "places") && Array.isArray(data)) {
    const { rows, columns, first } = boxOf(alphabet);
    return [hold((Number(data[1]) - first[1] + 0.5) / columns), hold(1 - (Number(data[0]) - first[0] + 0.5) / rows)];
  }
  const row = rowOf(alphabet);
  if (typeof data !== "number" || !row || ["categories", "weekdays"].includes(alphabet.kind) || row.size < 2)
    return null;
  return [hold((data - row.low) / (row.size - 1)), 0.5];
}

function numberInWords(alphabet: AlphabetTable, row: Row, data: number): string {
  const index = data - row.low;
  if (Number.isInteger(index) && index >= 0 && index < row.size) return row.label(index);
  const number = String(Number(data.toFixed(3)));
  // Reports may lie beyond the values, or between them.
  return alphabet.kind === "integers" ? withUnit(alphabet, number) : t("number", { number });
}

function bitsInWords(row: Row, bits: string): string {
  const set = [...bits].flatMap((bit, index) => (bit === "1" ? [row.label(index)] : []));
  const most = 6;
  const some = set.slice(0, most).join(", ");
  const named = set.length > most ? t("marks.more", { named: some, n: set.length - most }) : some;
  return set.length ? t("marks.yes", { named }) : t("marks.none");
}

function isValue(alphabet: AlphabetTable, data: string): boolean {
  return listOf(alphabet, "values").includes(data);
}

export function placeInWords(alphabet: AlphabetTable, row: number, column: number): string {
  const { latitude, longitude } = middleOf(alphabet, row, column);
  const [south, north] = [numberOf(alphabet, "south", 0), numberOf(alphabet, "north", 1)];
  const digits = digitsOf((north - south) / boxOf(alphabet).rows);
  return t("around", { place: `${degree(latitude, true, digits)}, ${degree(longitude, false, digits)}` });
}

/** A map without a picture of the ground says where it lies. */
export function cornersInWords(alphabet: AlphabetTable): string {
  const corner = (latitude: string, longitude: string): string =>
    `${degree(numberOf(alphabet, latitude, 0), true, 3)}, ${degree(numberOf(alphabet, longitude, 0), false, 3)}`;
  return t("north", { low: corner("south", "west"), high: corner("north", "east") });
}

export function middleOf(
  alphabet: AlphabetTable,
  row: number,
  column: number,
): { latitude: number; longitude: number } {
  const { rows, columns } = boxOf(alphabet);
  const [south, north, west, east] = ["south", "north", "west", "east"].map((key) => numberOf(alphabet, key, 0)) as [
    number,
    number,
    number,
    number,
  ];
  return {
    latitude: south + ((row + 0.5) / rows) * (north - south),
    longitude: west + ((column + 0.5) / columns) * (east - west),
  };
}

// What a survey's table says, read again with care: the client has refused anything else already.

export function numberOf(alphabet: AlphabetTable, key: string, otherwise: number): number {
  const found = alphabet[key];
  return typeof found === "number" ? found : otherwise;
}

export function textOf(alphabet: AlphabetTable, key: string, otherwise: string): string {
  const found = alphabet[key];
  return typeof found === "string" ? found : otherwise;
}

export function listOf(alphabet: AlphabetTable, key: string): unknown[] {
  const found = alphabet[key];
  return Array.isArray(found) ? found : [];
}

export function withUnit(alphabet: AlphabetTable, number: string): string {
  const unit = textOf(alphabet, "unit", "");
  if (!unit) return number;
  // Other languages make no plural with an s: there the survey says its unit as it is read behind a number.
  const isWord = language().startsWith("en") && /^[a-z]{3,}$/.test(unit) && !/s$|thousand|illion|dozen/.test(unit);
  return `${number} ${unit}${isWord && number !== "1" ? "s" : ""}`;
}

export function boxOf(alphabet: AlphabetTable): { rows: number; columns: number; first: [number, number] } {
  return {
    rows: numberOf(alphabet, "rows", 1),
    columns: numberOf(alphabet, "columns", 1),
    first: [numberOf(alphabet, "first_row", 0), numberOf(alphabet, "first_column", 0)],
  };
}

/** Values in a row, or null where there is no end of them. */
export function rowOf(alphabet: AlphabetTable): Row | null {
  const plain = (labels: string[], raws: unknown[] = labels): Row => ({
    size: labels.length,
    label: (index) => labels[index] ?? "",
    raw: (index) => raws[index],
    low: 0,
    typed: null,
  });
  switch (alphabet.kind) {
    case "integers":
      return typeof alphabet["low"] === "number" && typeof alphabet["high"] === "number"
        ? integersRow(alphabet, alphabet["low"], alphabet["high"])
        : null;
    case "circle":
      return integersRow(alphabet, 0, numberOf(alphabet, "steps", 2) - 1);
    case "hours": {
      const hours = Array.from({ length: 24 }, (_, hour) => `${String(hour).padStart(2, "0")}:00`);
      return { ...plain(hours), typed: { type: "time", step: "3600", index: (text) => Number(text.slice(0, 2)) } };
    }
    case "weekdays":
      return plain(weekdays(), WEEKDAYS);
    case "categories":
    case "scale":
      return plain(listOf(alphabet, "values").map(String), listOf(alphabet, "values"));
    case "bins":
      return binsRow(alphabet);
    case "dates":
      return datesRow(alphabet);
    default:
      return null;
  }
}

function integersRow(alphabet: AlphabetTable, low: number, high: number): Row {
  return {
    size: high - low + 1,
    label: (index) => withUnit(alphabet, String(low + index)),
    raw: (index) => low + index,
    low,
    typed: {
      type: "number",
      step: "1",
      min: String(low),
      max: String(high),
      index: (text) => (text.trim() === "" ? NaN : Number(text) - low),
    },
  };
}

function binsRow(alphabet: AlphabetTable): Row {
  const edges = binEdges(alphabet);
  const below = alphabet["below"] === true ? 1 : 0;
  const above = alphabet["above"] === true ? 1 : 0;
  const end = withUnit(alphabet, "2").slice(1); // as of several: "18 to 30 years"
  const edge = (index: number): number => edges[index] ?? NaN;
  const last = edges.length - 1;
  return {
    size: last + below + above,
    low: 0,
    label: (index) => {
      const bin = index - below;
      if (bin < 0) return t("bin.below", { edge: `${edge(0)}${end}` });
      return bin < last
        ? t("from.to", { low: String(edge(bin)), high: `${edge(bin + 1)}${end}` })
        : t("bin.above", { edge: `${edge(last)}${end}` });
    },
    // The middle of a bin, which no rounding moves into another.
    raw: (index) => {
      const bin = index - below;
      if (bin < 0) return edge(0) - 1;
      return bin < last ? (edge(bin) + edge(bin + 1)) / 2 : edge(last) + 1;
    },
    typed: {
      type: "number",
      step: "any",
      index: (text) => {
        if (text.trim() === "") return NaN;
        const bin = edges.filter((one) => one <= Number(text)).length - 1;
        return (bin < 0 && !below) || (bin >= last && !above) ? NaN : Math.min(bin, last) + below;
      },
    },
  };
}

function binEdges(alphabet: AlphabetTable): number[] {
  if (Array.isArray(alphabet["edges"])) return listOf(alphabet, "edges").map(Number);
  const [low, high, width] = ["low", "high", "width"].map((key) => numberOf(alphabet, key, 1)) as [
    number,
    number,
    number,
  ];
  // As the survey writes them: 0.1 times 3 is 0.3.
  return Array.from({ length: Math.round((high - low) / width) + 1 }, (_, index) =>
    Number((low + index * width).toPrecision(12)),
  );
}

function datesRow(alphabet: AlphabetTable): Row | null {
  const every = textOf(alphabet, "every", "day");
  const [first, last] = ["first", "last"].map((key) => textOf(alphabet, key, "")) as [string, string];
  const quarterOf = (text: string): number => {
    const month = Number(text.slice(5, 7)) || 1;
    return Number(text.slice(0, 4)) * 4 + (text[5] === "Q" ? Number(text[6]) - 1 : Math.floor((month - 1) / 3));
  };
  const yearOf = (text: string): number => Number(text.slice(0, 4));
  const [from, to] =
    every === "year"
      ? [yearOf(first), yearOf(last)]
      : every === "quarter"
        ? [quarterOf(first), quarterOf(last)]
        : [0, -1];
  if (to < from) return null;
  const label = (index: number): string => {
    const step = from + index;
    return every === "year"
      ? String(step).padStart(4, "0")
      : `${String(Math.floor(step / 4)).padStart(4, "0")}-Q${(step % 4) + 1}`;
  };
  const typed: Row["typed"] =
    every === "year"
      ? { type: "number", step: "1", min: String(from), max: String(to), index: (text) => Number(text) - from }
      : null;
  return { size: to - from + 1, label, raw: label, low: 0, typed };
}

export function attributesOf(alphabet: AlphabetTable): { name: string; alphabet: AlphabetTable }[] {
  const inner = listOf(alphabet, "alphabets") as AlphabetTable[];
  return listOf(alphabet, "names").flatMap((name, index) =>
    inner[index] ? [{ name: String(name), alphabet: inner[index] }] : [],
  );
}

/** Cells take two parts of a list, all else one. */
function partsOf(
  alphabet: AlphabetTable,
  data: unknown,
): { name: string; alphabet: AlphabetTable; part: unknown }[] | null {
  if (!Array.isArray(data)) return null;
  let start = 0;
  const found = attributesOf(alphabet).map(({ name, alphabet: own }) => {
    const isCell = ["grid", "places", "lattice", "coordinates"].includes(own.kind);
    const part: unknown = isCell ? data.slice(start, start + 2) : data[start];
    start += isCell ? 2 : 1;
    return { name, alphabet: own, part };
  });
  return start === data.length ? found : null;
}
