/** What a person answers with: an input for each kind of values, and values and reports in words. */
import type { AlphabetTable } from "./api.js";
import { h, put, s } from "./dom.js";

export interface Field {
  element: HTMLElement;
  /** What the person has, as the client's `take` reads it; undefined while nothing was chosen. */
  raw(): unknown;
  /** The same as a person says it. */
  words(): string;
  /** Where it lies in the unit square, to be shown beside a report; null where values lie nowhere. */
  place(): Place | null;
}

export type Place = [x: number, y: number];

/** Values in a row: what each is called, and what `take` reads for it. */
interface Row {
  size: number;
  label(index: number): string;
  raw(index: number): unknown;
  /** How reports number the first value. */
  low: number;
  /** A field beside the slider, for whoever would rather type. */
  typed: { type: "number" | "time"; step: string; min?: string; max?: string; index(text: string): number } | null;
}

const FEW = 7;
const SEVERAL = 14;
const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/** The input that suits the values; `changed` is called with every change. */
export function fieldFor(alphabet: AlphabetTable, name: string, changed: () => void): Field {
  if (alphabet.kind === "attributes") return attributesField(alphabet, changed);
  if (alphabet.kind === "grid" || alphabet.kind === "places") return mapField(alphabet, name, changed);
  if (alphabet.kind === "coordinates" || alphabet.kind === "lattice") return pairField(alphabet, name, changed);
  if (alphabet.kind === "dates" && !["quarter", "year"].includes(textOf(alphabet, "every", "day"))) return dateField(alphabet, name, changed);
  const row = rowOf(alphabet);
  if (row === null) return textField(alphabet, name, changed);
  const isLine = !["categories", "weekdays"].includes(alphabet.kind);
  if (row.size > FEW && isLine) return sliderField(alphabet, row, name, changed);
  return row.size > SEVERAL ? selectField(row, name, changed) : radioField(row, name, changed);
}

/** A value or a report as a person reads it. */
export function inWords(alphabet: AlphabetTable, data: unknown): string {
  if (alphabet.kind === "attributes") {
    const found = partsOf(alphabet, data);
    return found ? found.map(({ name, alphabet: own, part }) => `${name}: ${inWords(own, part)}`).join("; ") : JSON.stringify(data);
  }
  const row = rowOf(alphabet);
  if (row && typeof data === "string" && alphabet.kind !== "categories" && /^[01]+$/.test(data)) return bitsInWords(row, data);
  if (row && typeof data === "string" && data.length === row.size && /^[01]+$/.test(data) && !isValue(alphabet, data)) return bitsInWords(row, data);
  if (alphabet.kind === "grid" && Array.isArray(data)) return `row ${data[0]}, column ${data[1]}`;
  if (alphabet.kind === "places" && Array.isArray(data)) return placeInWords(alphabet, Number(data[0]), Number(data[1]));
  if (Array.isArray(data)) return data.map((part) => (typeof part === "number" ? Number(part.toFixed(5)) : String(part))).join(", ");
  if (typeof data === "number" && row && alphabet.kind !== "categories") return numberInWords(alphabet, row, data);
  return String(data);
}

/** Where a report lies in the unit square, held to its edges. */
export function placeOf(alphabet: AlphabetTable, data: unknown): Place | null {
  const hold = (share: number): number => Math.min(1, Math.max(0, share));
  if ((alphabet.kind === "grid" || alphabet.kind === "places") && Array.isArray(data)) {
    const { rows, columns, first } = boxOf(alphabet);
    return [hold((Number(data[1]) - first[1] + 0.5) / columns), hold(1 - (Number(data[0]) - first[0] + 0.5) / rows)];
  }
  const row = rowOf(alphabet);
  if (typeof data !== "number" || !row || ["categories", "weekdays"].includes(alphabet.kind) || row.size < 2) return null;
  return [hold((data - row.low) / (row.size - 1)), 0.5];
}

function numberInWords(alphabet: AlphabetTable, row: Row, data: number): string {
  const index = data - row.low;
  if (Number.isInteger(index) && index >= 0 && index < row.size) return row.label(index);
  const number = String(Number(data.toFixed(3)));
  // Reports may lie beyond the values, or between them.
  return alphabet.kind === "integers" ? withUnit(alphabet, number) : `number ${number}`;
}

function bitsInWords(row: Row, bits: string): string {
  const set = [...bits].flatMap((bit, index) => (bit === "1" ? [row.label(index)] : []));
  const most = 6;
  const named = set.slice(0, most).join(", ") + (set.length > most ? ` and ${set.length - most} more` : "");
  return set.length ? `yes to ${named}; no to all others` : "no to everything";
}

function isValue(alphabet: AlphabetTable, data: string): boolean {
  return listOf(alphabet, "values").includes(data);
}

function placeInWords(alphabet: AlphabetTable, row: number, column: number): string {
  const { latitude, longitude } = middleOf(alphabet, row, column);
  return `around ${degrees(latitude, "N", "S")}, ${degrees(longitude, "E", "W")}`;
}

function degrees(angle: number, ahead: string, behind: string): string {
  return `${Math.abs(angle).toFixed(4)}° ${angle < 0 ? behind : ahead}`;
}

function middleOf(alphabet: AlphabetTable, row: number, column: number): { latitude: number; longitude: number } {
  const { rows, columns } = boxOf(alphabet);
  const [south, north, west, east] = ["south", "north", "west", "east"].map((key) => numberOf(alphabet, key, 0)) as [number, number, number, number];
  return { latitude: south + ((row + 0.5) / rows) * (north - south), longitude: west + ((column + 0.5) / columns) * (east - west) };
}

// What a survey's table says, read again with care: the client has refused anything else already.

function numberOf(alphabet: AlphabetTable, key: string, otherwise: number): number {
  const found = alphabet[key];
  return typeof found === "number" ? found : otherwise;
}

function textOf(alphabet: AlphabetTable, key: string, otherwise: string): string {
  const found = alphabet[key];
  return typeof found === "string" ? found : otherwise;
}

function listOf(alphabet: AlphabetTable, key: string): unknown[] {
  const found = alphabet[key];
  return Array.isArray(found) ? found : [];
}

function withUnit(alphabet: AlphabetTable, number: string): string {
  const unit = textOf(alphabet, "unit", "");
  if (!unit) return number;
  const isWord = /^[a-z]{3,}$/.test(unit) && !/s$|thousand|illion|dozen/.test(unit);
  return `${number} ${unit}${isWord && number !== "1" ? "s" : ""}`;
}

function boxOf(alphabet: AlphabetTable): { rows: number; columns: number; first: [number, number] } {
  return {
    rows: numberOf(alphabet, "rows", 1),
    columns: numberOf(alphabet, "columns", 1),
    first: [numberOf(alphabet, "first_row", 0), numberOf(alphabet, "first_column", 0)],
  };
}

/** Values in a row, or null where there is no end of them. */
function rowOf(alphabet: AlphabetTable): Row | null {
  const plain = (labels: string[], raws: unknown[] = labels): Row => ({
    size: labels.length,
    label: (index) => labels[index] ?? "",
    raw: (index) => raws[index],
    low: 0,
    typed: null,
  });
  switch (alphabet.kind) {
    case "integers":
      return typeof alphabet["low"] === "number" && typeof alphabet["high"] === "number" ? integersRow(alphabet, alphabet["low"], alphabet["high"]) : null;
    case "circle":
      return integersRow(alphabet, 0, numberOf(alphabet, "steps", 2) - 1);
    case "hours": {
      const hours = Array.from({ length: 24 }, (_, hour) => `${String(hour).padStart(2, "0")}:00`);
      return { ...plain(hours), typed: { type: "time", step: "3600", index: (text) => Number(text.slice(0, 2)) } };
    }
    case "weekdays":
      return plain(WEEKDAYS);
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
    typed: { type: "number", step: "1", min: String(low), max: String(high), index: (text) => (text.trim() === "" ? NaN : Number(text) - low) },
  };
}

function binsRow(alphabet: AlphabetTable): Row {
  const edges = binEdges(alphabet);
  const below = alphabet["below"] === true ? 1 : 0;
  const above = alphabet["above"] === true ? 1 : 0;
  const unit = textOf(alphabet, "unit", "");
  const end = unit ? ` ${unit}` : "";
  const edge = (index: number): number => edges[index] ?? NaN;
  const last = edges.length - 1;
  return {
    size: last + below + above,
    low: 0,
    label: (index) => {
      const bin = index - below;
      if (bin < 0) return `below ${edge(0)}${end}`;
      return bin < last ? `${edge(bin)} to ${edge(bin + 1)}${end}` : `${edge(last)}${end} or more`;
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
  const [low, high, width] = ["low", "high", "width"].map((key) => numberOf(alphabet, key, 1)) as [number, number, number];
  // As the survey writes them: 0.1 times 3 is 0.3.
  return Array.from({ length: Math.round((high - low) / width) + 1 }, (_, index) => Number((low + index * width).toPrecision(12)));
}

function datesRow(alphabet: AlphabetTable): Row | null {
  const every = textOf(alphabet, "every", "day");
  const [first, last] = ["first", "last"].map((key) => textOf(alphabet, key, "")) as [string, string];
  const quarterOf = (text: string): number => {
    const month = Number(text.slice(5, 7)) || 1;
    return Number(text.slice(0, 4)) * 4 + (text[5] === "Q" ? Number(text[6]) - 1 : Math.floor((month - 1) / 3));
  };
  const yearOf = (text: string): number => Number(text.slice(0, 4));
  const [from, to] = every === "year" ? [yearOf(first), yearOf(last)] : every === "quarter" ? [quarterOf(first), quarterOf(last)] : [0, -1];
  if (to < from) return null;
  const label = (index: number): string => {
    const step = from + index;
    return every === "year" ? String(step).padStart(4, "0") : `${String(Math.floor(step / 4)).padStart(4, "0")}-Q${(step % 4) + 1}`;
  };
  const typed: Row["typed"] = every === "year" ? { type: "number", step: "1", min: String(from), max: String(to), index: (text) => Number(text) - from } : null;
  return { size: to - from + 1, label, raw: label, low: 0, typed };
}

// The inputs themselves. Nothing that was typed is kept by the browser: autocomplete is off everywhere.

function sliderField(alphabet: AlphabetTable, row: Row, name: string, changed: () => void): Field {
  let index: number | null = null;
  const unset = row.typed ? "Move it, or type" : "Move it";
  const shown = h("output", { class: "chosen none", "aria-hidden": "true" }, unset);
  const slider = h("input", { type: "range", min: 0, max: row.size - 1, step: 1, value: Math.floor((row.size - 1) / 2), autocomplete: "off", class: "unset", "aria-label": name, "aria-valuetext": "not chosen yet" });
  const { typed } = row;
  const number = typed && h("input", { type: typed.type, step: typed.step, min: typed.min, max: typed.max, autocomplete: "off", inputmode: typed.type === "number" ? (typed.step === "1" ? "numeric" : "decimal") : undefined, "aria-label": `${name}, typed`, class: "typed" });
  const choose = (found: number): void => {
    const isThere = Number.isInteger(found) && found >= 0 && found < row.size;
    index = isThere ? found : null;
    put(shown, isThere ? row.label(found) : unset);
    shown.classList.toggle("none", !isThere);
    slider.setAttribute("aria-valuetext", isThere ? row.label(found) : "not chosen yet");
    slider.classList.toggle("unset", !isThere);
    if (isThere) slider.value = String(found);
    changed();
  };
  const bySlider = (): void => {
    choose(Number(slider.value));
    if (number && typed?.type === "number") number.value = alphabet.kind === "bins" ? "" : String(row.raw(Number(slider.value)));
    if (number && typed?.type === "time") number.value = row.label(Number(slider.value));
  };
  slider.addEventListener("input", bySlider);
  // A press on the middle, where it stands already, is an answer too.
  slider.addEventListener("pointerup", bySlider);
  number?.addEventListener("input", () => choose(typed!.index(number.value)));
  const ends = h("div", { class: "ends", "aria-hidden": "true" }, h("span", {}, row.label(0)), h("span", {}, row.label(row.size - 1)));
  return {
    element: h("div", { class: "field slider" }, h("div", { class: "chosen-row" }, shown, number), slider, ends),
    raw: () => (index === null ? undefined : row.raw(index)),
    words: () => (index === null ? "" : row.label(index)),
    place: () => (index === null || row.size < 2 ? null : [index / (row.size - 1), 0.5]),
  };
}

let fields = 0;

function radioField(row: Row, name: string, changed: () => void): Field {
  const group = `answer-${fields++}`;
  const buttons = Array.from({ length: row.size }, (_, index) => h("input", { type: "radio", name: group, value: String(index), autocomplete: "off", onchange: changed }));
  const labels = buttons.map((button, index) => h("label", { class: "choice" }, button, h("span", {}, row.label(index))));
  const found = (): number => buttons.findIndex((button) => button.checked);
  return {
    element: h("fieldset", { class: "field choices" }, h("legend", { class: "unseen" }, name), ...labels),
    raw: () => (found() < 0 ? undefined : row.raw(found())),
    words: () => (found() < 0 ? "" : row.label(found())),
    place: () => null,
  };
}

function selectField(row: Row, name: string, changed: () => void): Field {
  const options = Array.from({ length: row.size }, (_, index) => h("option", { value: index }, row.label(index)));
  const select = h("select", { "aria-label": name, autocomplete: "off", onchange: changed }, h("option", { value: "", selected: true }, "Choose…"), ...options);
  return {
    element: h("div", { class: "field" }, select),
    raw: () => (select.value === "" ? undefined : row.raw(Number(select.value))),
    words: () => (select.value === "" ? "" : row.label(Number(select.value))),
    place: () => null,
  };
}

function textField(alphabet: AlphabetTable, name: string, changed: () => void): Field {
  const isNumber = alphabet.kind === "integers";
  const input = h("input", { type: isNumber ? "number" : "text", step: "1", "aria-label": name, autocomplete: "off", oninput: changed });
  const words = (): string => (isNumber ? withUnit(alphabet, input.value) : input.value);
  return { element: h("div", { class: "field" }, input), raw: () => input.value.trim() || undefined, words, place: () => null };
}

function dateField(alphabet: AlphabetTable, name: string, changed: () => void): Field {
  const every = textOf(alphabet, "every", "day");
  const bound = (key: string): string | undefined => (/^\d{4}-\d\d-\d\d$/.test(textOf(alphabet, key, "")) ? textOf(alphabet, key, "") : undefined);
  const input = h("input", { type: "date", "aria-label": name, min: bound("first"), max: bound("last"), autocomplete: "off", oninput: changed });
  const remark = every === "day" ? false : h("p", { class: "note" }, `Any day of your ${every}: no more than the ${every} is used.`);
  return { element: h("div", { class: "field" }, input, remark), raw: () => input.value || undefined, words: () => input.value, place: () => null };
}

/** Two numbers, and the place where the person is. */
function pairField(alphabet: AlphabetTable, name: string, changed: () => void): Field {
  const isEarth = alphabet.kind === "coordinates";
  const names = isEarth ? ["Latitude", "Longitude"] : ["Row", "Column"];
  const inputs = names.map((one) => h("input", { type: "number", step: isEarth ? "any" : "1", "aria-label": `${name}: ${one}`, autocomplete: "off", oninput: changed }));
  const labels = inputs.map((input, index) => h("label", {}, names[index], input));
  const here = isEarth && whereIAm((found) => {
    [found.latitude, found.longitude].forEach((degree, index) => (inputs[index]!.value = degree.toFixed(5)));
    changed();
  });
  const raw = (): string[] | undefined => (inputs.every((input) => input.value.trim()) ? inputs.map((input) => input.value) : undefined);
  return { element: h("div", { class: "field pair" }, ...labels, here), raw, words: () => (raw() ?? []).join(", "), place: () => null };
}

/** Asks where the person is, when pressed and not before; what is found stays in this page. */
function whereIAm(found: (position: { latitude: number; longitude: number }) => void): HTMLElement {
  const said = h("p", { class: "note", role: "status" }, "Asked only if you press. It stays in this page; what is sent is blurred.");
  const button = h("button", { type: "button", class: "quiet" }, "Where I am");
  button.addEventListener("click", () => {
    if (!("geolocation" in navigator)) return put(said, "This browser does not know where it is. Choose a cell.");
    put(said, "Asking this device…");
    navigator.geolocation.getCurrentPosition(
      ({ coords: { latitude, longitude } }) => {
        put(said, "Found, and kept in this page.");
        found({ latitude, longitude });
      },
      () => put(said, "This device did not say where it is. Choose a cell."),
      { timeout: 15000, maximumAge: 600000 },
    );
  });
  return h("div", { class: "here" }, button, said);
}

/** A map of cells: pressed, moved on by the arrow keys, or found by the device. */
function mapField(alphabet: AlphabetTable, name: string, changed: () => void): Field {
  const { rows, columns, first } = boxOf(alphabet);
  const isEarth = alphabet.kind === "places";
  const holes = new Set(listOf(alphabet, "holes").map((one) => (Array.isArray(one) ? `${Number(one[0]) - first[0]} ${Number(one[1]) - first[1]}` : "")));
  let cell: [number, number] | null = null;
  const box = cellsPicture(rows, columns, holes);
  const mark = s("rect", { class: "own", width: 1, height: 1, visibility: "hidden" });
  box.append(mark);
  const shown = h("output", { class: "chosen none" }, "Press a cell");
  const said = h("p", { class: "note", role: "alert" });
  const words = (): string => (cell ? (isEarth ? placeInWords(alphabet, cell[0], cell[1]) : `row ${cell[0] + first[0]}, column ${cell[1] + first[1]}`) : "");
  const choose = (row: number, column: number): void => {
    if (row < 0 || row >= rows || column < 0 || column >= columns) return put(said, "That lies outside this map.");
    if (holes.has(`${row} ${column}`)) return put(said, "Nobody is asked in that cell.");
    put(said);
    cell = [row, column];
    mark.setAttribute("x", String(column));
    mark.setAttribute("y", String(rows - 1 - row));
    mark.setAttribute("visibility", "visible");
    put(shown, words());
    shown.classList.remove("none");
    changed();
  };
  const frame = h("div", { class: "map", tabindex: 0, role: "application", "aria-label": `${name}: a map of ${rows} by ${columns} cells; the arrow keys choose one` }, box);
  frame.addEventListener("pointerdown", (event) => {
    const { left, top, width, height } = box.getBoundingClientRect();
    choose(rows - 1 - Math.floor(((event.clientY - top) / height) * rows), Math.floor(((event.clientX - left) / width) * columns));
  });
  frame.addEventListener("keydown", (event) => {
    const step = ({ ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] } as Record<string, [number, number]>)[event.key];
    if (!step) return;
    event.preventDefault();
    const from = cell ?? [Math.floor(rows / 2), Math.floor(columns / 2)];
    choose(...stepOver(from, cell ? step : [0, 0], holes, rows, columns));
  });
  const cellAt = ({ latitude, longitude }: { latitude: number; longitude: number }): void => {
    const [south, north, west, east] = ["south", "north", "west", "east"].map((key) => numberOf(alphabet, key, 0)) as [number, number, number, number];
    choose(Math.floor(((latitude - south) / (north - south)) * rows), Math.floor(((longitude - west) / (east - west)) * columns));
  };
  return {
    element: h("div", { class: "field" }, h("div", { class: "chosen-row" }, shown), frame, said, isEarth && whereIAm(cellAt)),
    raw: () => (cell === null ? undefined : isEarth ? Object.values(middleOf(alphabet, ...cell)) : [cell[0] + first[0], cell[1] + first[1]]),
    words,
    place: () => (cell ? [(cell[1] + 0.5) / columns, 1 - (cell[0] + 0.5) / rows] : null),
  };
}

/** The next cell in a direction that is no hole; where there is none, the one before. */
function stepOver(from: [number, number], step: [number, number], holes: Set<string>, rows: number, columns: number): [number, number] {
  let [row, column] = from;
  do {
    row += step[0];
    column += step[1];
    if (row < 0 || row >= rows || column < 0 || column >= columns) return from;
  } while (holes.has(`${row} ${column}`) && (step[0] || step[1]));
  return [row, column];
}

const MOST_LINES = 120;

function cellsPicture(rows: number, columns: number, holes: Set<string>): SVGSVGElement {
  const lines: string[] = [];
  if (rows <= MOST_LINES) for (let row = 0; row <= rows; row++) lines.push(`M0 ${row}H${columns}`);
  if (columns <= MOST_LINES) for (let column = 0; column <= columns; column++) lines.push(`M${column} 0V${rows}`);
  const hidden = [...holes].map((one) => one.split(" ").map(Number)).map(([row, column]) => `M${column} ${rows - 1 - (row ?? 0)}h1v1h-1z`);
  return s("svg", { viewBox: `-0.1 -0.1 ${columns + 0.2} ${rows + 0.2}`, "aria-hidden": "true" },
    s("rect", { class: "ground", width: columns, height: rows }), s("path", { class: "lines", d: lines.join("") }), s("path", { class: "holes", d: hidden.join("") }));
}

function attributesField(alphabet: AlphabetTable, changed: () => void): Field {
  const parts = attributesOf(alphabet).map(({ name, alphabet: own }) => ({ name, field: fieldFor(own, name, changed) }));
  const sections = parts.map(({ name, field }, index) => h("section", { class: "attribute" }, h("h3", {}, `${index + 1}. ${name}`), field.element));
  const isWhole = (): boolean => parts.every(({ field }) => field.raw() !== undefined);
  return {
    element: h("div", { class: "field" }, ...sections),
    raw: () => (isWhole() ? Object.fromEntries(parts.map(({ name, field }) => [name, field.raw()])) : undefined),
    words: () => parts.map(({ name, field }) => `${name}: ${field.words()}`).join("; "),
    place: () => null,
  };
}

function attributesOf(alphabet: AlphabetTable): { name: string; alphabet: AlphabetTable }[] {
  const inner = listOf(alphabet, "alphabets") as AlphabetTable[];
  return listOf(alphabet, "names").flatMap((name, index) => (inner[index] ? [{ name: String(name), alphabet: inner[index] }] : []));
}

/** Cells take two parts of a list, all else one. */
function partsOf(alphabet: AlphabetTable, data: unknown): { name: string; alphabet: AlphabetTable; part: unknown }[] | null {
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
