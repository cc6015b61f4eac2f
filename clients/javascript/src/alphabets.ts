/** The values that a survey knows, and how what people have becomes one of them. */
import { EVERY, hourIn, labelOf, padded, stepIn, stepNamed, WEEKDAYS, weekdayIn, type Every } from "./dates.js";
import {
  compare,
  countUntil,
  fraction,
  listOf,
  minus,
  ofDecimal,
  ofShortest,
  over,
  plus,
  times,
  toDouble,
  type Fraction,
} from "./exact.js";
import { isNumber, isTable, isText } from "./errors.js";
import type { Table } from "./json.js";
import {
  BLANK,
  decimalIn,
  integerOf,
  isInteger,
  isMissing,
  isWord,
  noValue,
  realOf,
  simplest,
  spelling,
  whole,
} from "./words.js";

/** A value of a survey as it stands in JSON: a text, a number, a pair, or a list of several attributes' parts. */
export type Value = string | number | readonly (string | number)[];

/** Values of a survey, numbered from 0. */
export interface Alphabet {
  /** How values lie: words nowhere, numbers on a line or around a circle, cells in a plane; several of these at once. */
  readonly shape: "words" | "line" | "circle" | "plane" | "several";
  /** Number of values; Infinity where there is no end of them. */
  readonly size: number;
  /** Unit of distances. */
  readonly unit: string;
  /** Distance between neighbours, as the exact number that noise is made with. */
  readonly spacing: number;
  /** How many parts of a list a value takes. */
  readonly parts: number;
  /**
   * Whether distances follow from what people have; else they are what the survey says they are. Of places they follow from
   * the ground, and of bins from their middles, though two people on either side of an edge are near: neither is proven here.
   */
  readonly distances?: "true" | "unproven";
  /** Turns what a person has into a value, or says why it cannot. */
  accept(raw: unknown): Value;
  /** The number of a value; -1 where it is none. */
  locate(value: unknown): number;
  at(index: number): Value;
  /** What a value is called, to a person; absent where that is the value itself. */
  readonly caption?: (value: Value) => string;
}

/** Whole numbers on a line, and what is counted by them: dates, bins, words of a scale. */
export interface Line extends Alphabet {
  readonly low: number;
  readonly high: number;
  /** Places of values that are not equally far apart. */
  readonly positions?: readonly Fraction[];
}

export type Cell = readonly [number, number];

/** Cells of a plane, from a first one on. */
export interface Plane extends Alphabet {
  readonly rows: number;
  readonly columns: number;
  readonly first: Cell;
  readonly hasHoles: boolean;
  at(index: number): Cell;
  /** Steps to a degree of latitude and of longitude, where values are coordinates. */
  readonly steps?: Cell;
}

/** Several attributes of one person; a value is the list of their parts, one after another. */
export interface Attributes extends Alphabet {
  readonly names: readonly string[];
  readonly alphabets: readonly Alphabet[];
  /** The parts of a value, attribute by attribute. */
  pieces(value: unknown): Value[];
}

/** The number of a value that must be one. */
export function indexOf(alphabet: Alphabet, value: unknown): number {
  const index = alphabet.locate(value);
  return index >= 0 ? index : noValue("outside the alphabet", value);
}

/** What most alphabets have. */
const PLAIN = { unit: "", spacing: 1, parts: 1 };

/** An alphabet whose `accept` refuses what lies outside. */
function taking<Made extends Alphabet>(settings: Omit<Made, keyof typeof PLAIN> & Partial<typeof PLAIN>): Made {
  const alphabet = { ...PLAIN, ...settings } as unknown as Made;
  return {
    ...alphabet,
    accept: (raw) => {
      if (isMissing(raw)) return noValue("missing", raw);
      const value = alphabet.accept(raw);
      return alphabet.locate(value) < 0 ? noValue("outside the alphabet", raw) : value;
    },
  };
}

function categories(table: Table): Alphabet {
  const values = table.list<string | number>("values", (one) => isText(one) || Number.isInteger(one));
  const numbers = new Map<unknown, number>(values.map((value, index) => [value, index]));
  const areNumbers = typeof values[0] === "number";
  if (!values.every((one) => isNumber(one) === areNumbers && !String(one).endsWith("\0"))) table.bad("values");
  const read = spelling(values, table);
  return taking({
    shape: "words",
    size: values.length,
    accept: (raw) => {
      // A whole number as it is written most simply; other texts may be names.
      const text = areNumbers && (!isText(raw) || isInteger(raw)) ? simplest(raw) : raw;
      const word = isText(text) ? read(text) : undefined;
      return areNumbers ? (word === undefined ? integerOf(raw) : Number(word)) : (word ?? NaN);
    },
    locate: (value) => numbers.get(value) ?? -1,
    at: (index) => values[index],
  });
}

/** Whole numbers from low to high; all of them if no ends are given. */
export function lineOf(settings: Partial<Line>): Line {
  const { low = -Infinity, high = Infinity } = settings;
  const size = high - low + 1;
  return taking<Line>({
    shape: "line",
    low,
    high,
    size,
    accept: integerOf,
    locate: (value) => {
      const number = Number.isSafeInteger(value) ? (value as number) : NaN;
      return number >= low && number <= high ? (size < Infinity ? number - low : 0) : -1;
    },
    at: (index) => low + index,
    ...settings,
  });
}

function integers(table: Table): Line {
  const settings = { spacing: table.positive("spacing", 1), unit: table.text("unit", "") };
  if (!table.states("low") && !table.states("high")) return lineOf(settings);
  const low = table.whole("low", -Infinity);
  return lineOf({ ...settings, low, high: table.whole("high", low) });
}

function scale(table: Table): Line {
  const words = table.list<string>("values", isWord);
  const read = spelling(words, table);
  let places: Partial<Line> = { spacing: table.positive("spacing", 1) };
  if (table.states("positions")) {
    if (places.spacing !== 1) table.bad("positions");
    places = evenly(rising(table, "positions", words.length));
  }
  return lineOf({
    low: 0,
    high: words.length - 1,
    unit: table.text("unit", ""),
    ...places,
    accept: (raw) => (isText(raw) ? words.indexOf(read(raw) ?? "") : -1),
    caption: (value) => words[value as number],
  });
}

/** Numbers of a list as the decimals that they are written as, each above the one before. */
function rising(table: Table, key: string, length?: number): Fraction[] {
  const numbers = table.list<number>(key, isNumber, length).map(ofShortest);
  if (numbers.some((one, index) => index > 0 && compare(numbers[index - 1], one) >= 0)) table.bad(key);
  return numbers;
}

/** Positions, or the distance between neighbours where that is always the same. */
function evenly(positions: Fraction[]): Partial<Line> {
  const gaps = positions.slice(1).map((one, index) => minus(one, positions[index]));
  if (gaps.some((gap) => compare(gap, gaps[0]) !== 0)) return { positions };
  return { spacing: gaps.length ? toDouble(gaps[0]) : 1 };
}

const MOST_BINS = 2 ** 16;

function bins(table: Table): Line {
  const edges = !table.states("edges") ? equalEdges(table) : rising(table, "edges");
  if (edges.length < 2 || edges.length > MOST_BINS + 1) table.bad("edges");
  const below = Number(table.flag("below"));
  const above = table.flag("above");
  const unit = table.text("unit", "");
  const factor = ofShortest(table.positive("scale", 1));
  const written = table.states("format") ? formatted(table) : decimalIn;
  const middles = edges.slice(1).map((edge, index) => over(plus(edges[index], edge), 2n));
  const beyond = (edge: Fraction, middle: Fraction): Fraction => minus(plus(edge, edge), middle);
  const only = { spacing: toDouble(minus(edges[1], edges[0])) };
  if (below) middles.unshift(beyond(edges[0], middles[0]));
  if (above) middles.push(beyond(edges.at(-1)!, middles.at(-1)!));
  return lineOf({
    low: 0,
    high: middles.length - 1,
    unit,
    ...(middles.length > 1 ? evenly(middles) : only),
    distances: "unproven",
    accept: (raw) => {
      const text = isNumber(raw) || isText(raw) ? String(raw) : "";
      const amount = times(ofDecimal((isText(raw) ? written : decimalIn)(text) ?? noValue(fault(text), raw)), factor);
      const place = countUntil(edges.length, (edge) => compare(edges[edge], amount) <= 0);
      return place === edges.length && !above ? NaN : place - 1 + below;
    },
    caption: (value) => binLabel(edges.map(toDouble), (value as number) - below, unit && ` ${unit}`),
  });
}

const SIGN = "([^\\d\\s\\x1c-\\x1f\\x85+-]*)";

/** The decimal in a text that is written as the survey writes 1234, if it is. */
function formatted(table: Table): (text: string) => string | undefined {
  const example = whole(`${SIGN}${BLANK}*1(${BLANK}|[,.'\u2019_])?234(?:([.,])\\d+)?${BLANK}*${SIGN}`).exec(
    table.text("format"),
  );
  const [, before, gap, mark, behind] = (example ?? table.bad("format")).map((one = "") =>
    isMissing(one) && one ? BLANK : one.replace(/\W/g, "\\$&"),
  );
  if (mark && mark === gap) table.bad("format");
  const groups = gap && `\\d{1,3}(?:${gap}\\d{3})+|`;
  const pattern = whole(
    `([+-]?)(?:${before})?${BLANK}*(${groups}\\d+)(?:${mark || "(?!)"}(\\d+))?${BLANK}*(?:${behind})?`,
  );
  return (text) => {
    const [found, sign, digits, part = ""] = pattern.exec(text) ?? [];
    return found && `${sign + digits.replace(/\D/g, "")}.${part}`;
  };
}

function equalEdges(table: Table): Fraction[] {
  const [low, high, width] = ["low", "high", "width"].map((key) => ofShortest(table.number(key)));
  const reach = minus(high, low);
  const count = width.n > 0n ? fraction(reach.n * width.d, reach.d * width.n) : width;
  if (count.d !== 1n || count.n < 1n || count.n > MOST_BINS) table.bad("width");
  return listOf(Number(count.n) + 1, (index) => plus(low, times(width, fraction(BigInt(index)))));
}

const NOT_FINITE = whole("[+-]?(?:nan|inf|infinity)", "i");
const SEPARATED = whole("[+-]?\\d+(?:[,'\\u2019_\\s.]\\d+)+");
const WITH_SIGN = whole("(?:[^\\d.,+-]*[+-]?\\d[\\d.,]*[^\\d.,]*)");

function fault(text: string): string {
  if (NOT_FINITE.test(text)) return "not a finite number";
  if (SEPARATED.test(text)) return "separators in a number";
  return WITH_SIGN.test(text) ? "a sign or unit beside a number" : "not a number";
}

function binLabel(edges: number[], number: number, unit: string): string {
  if (number < 0) return `below ${edges[0]}${unit}`;
  return number + 1 < edges.length
    ? `${edges[number]} to ${edges[number + 1]}${unit}`
    : `${edges[number]}${unit} or more`;
}

function dates(table: Table): Line {
  const every = table.text("every", "day") as Every;
  if (!EVERY.includes(every)) table.bad("every");
  const [first, last] = ["first", "last"].map((key) => {
    const text = table.text(key);
    try {
      return stepNamed(text, every);
    } catch {
      return table.bad(key); // of the survey, and no value
    }
  });
  if (first > last) table.bad("last");
  return lineOf({
    low: 0,
    high: last - first,
    unit: every,
    distances: "true",
    accept: (raw) => stepIn(raw, every) - first,
    caption: (step) => labelOf(first + (step as number), every),
  });
}

/** Whole numbers from 0 on in a circle. */
function circleOf(size: number, settings: Partial<Alphabet>): Alphabet {
  return { ...lineOf({ low: 0, high: size - 1, ...settings }), shape: "circle" };
}

function circle(table: Table): Alphabet {
  const steps = table.whole("steps", 2);
  if (steps > 2 ** 20) table.bad("steps");
  return circleOf(steps, { unit: table.text("unit", "") });
}

function hours(): Alphabet {
  return circleOf(24, {
    unit: "hour",
    distances: "true",
    accept: (raw) => (isNumber(raw) || isInteger(raw) ? integerOf(raw) : hourIn(raw)),
    caption: (hour) => `${padded(hour as number)}:00`,
  });
}

function weekdays(): Alphabet {
  return circleOf(7, {
    unit: "day",
    distances: "true",
    accept: weekdayIn,
    caption: (day) => WEEKDAYS[day as number].slice(0, 3),
  });
}

/** Cells of a box, less its holes; of all the plane, if no box is given. */
export function planeOf(settings: Partial<Plane> & { holes?: number[] }): Plane {
  const { rows = Infinity, columns = Infinity, first = [0, 0], holes = [] } = settings;
  const size = rows * columns - holes.length;
  return taking<Plane>({
    shape: "plane",
    rows,
    columns,
    first,
    size,
    hasHoles: holes.length > 0,
    parts: 2,
    accept: (raw) => pair(raw, "row", "column").map(integerOf),
    locate: (value) => {
      if (!Array.isArray(value) || value.length !== 2 || !value.every(Number.isSafeInteger)) return -1;
      const [row, column] = value.map((part, axis) => part - first[axis]);
      if (size === Infinity) return Math.max(Math.abs(row), Math.abs(column)) < 2 ** 30 ? 0 : -1;
      if (row < 0 || row >= rows || column < 0 || column >= columns) return -1;
      const place = row * columns + column;
      const hidden = countUntil(holes.length, (hole) => holes[hole] < place);
      return holes[hidden] === place ? -1 : place - hidden;
    },
    at: (index) => {
      // Hole number i at place h has h - i cells before it.
      const place = index + countUntil(holes.length, (hole) => holes[hole] - hole <= index);
      return [Math.floor(place / columns) + first[0], (place % columns) + first[1]];
    },
    ...settings,
  });
}

/** Two parts of what a person has: a list of two, or an object with these names, such as the browser's own coordinates. */
function pair(raw: unknown, ...names: [string, string]): unknown[] {
  if (Array.isArray(raw) && raw.length === 2) return raw;
  return isTable(raw) ? names.map((name) => raw[name]) : noValue(`no list or object of ${names}`, raw);
}

function cellsOf(table: Table, first: Cell): Partial<Plane> {
  const [rows, columns] = ["rows", "columns"].map((key) => table.whole(key, 1));
  if (!Number.isSafeInteger(rows * columns)) table.bad("rows");
  const box = planeOf({ rows, columns, first });
  const cells = table.states("holes") ? table.list<number[]>("holes", (one) => box.locate(one) >= 0) : [];
  const holes = new Set(cells.map(box.locate));
  if (holes.size === rows * columns) table.bad("holes");
  return { rows, columns, first, holes: [...holes].sort((a, b) => a - b) } as Partial<Plane>;
}

function grid(table: Table): Plane {
  const first = ["first_row", "first_column"].map((key) => table.whole(key, -(2 ** 30), 0)) as unknown as Cell;
  return planeOf({ ...cellsOf(table, first), spacing: table.positive("spacing", 1), unit: table.text("unit", "") });
}

function lattice(table: Table): Plane {
  return planeOf({ spacing: table.positive("spacing", 1), unit: table.text("unit", "") });
}

const BOUNDS = ["south", "west", "north", "east"];

/** A box of latitudes and longitudes: its bounds, and the point of a person inside it. */
function boxOf(table: Table): { box: number[]; settings: Partial<Plane>; point: (raw: unknown) => number[] } {
  const box = BOUNDS.map((key, index) => {
    const degrees = table.number(key);
    return Math.abs(degrees) <= (index % 2 ? 180 : 90) ? degrees : table.bad(key);
  });
  const [south, west, north, east] = box;
  const settings: Partial<Plane> = {
    distances: "unproven",
    spacing: table.positive("spacing"),
    unit: table.text("unit", "km"),
  };
  if (!["km", "m"].includes(settings.unit!)) table.bad("unit");
  if (south >= north || west >= east) table.bad("north");
  const holds = (x: number, y: number): boolean => south <= x && x <= north && west <= y && y <= east;
  const point = (raw: unknown): number[] => {
    const [x, y] = pair(raw, "latitude", "longitude").map((part) => realOf(part, "not decimal degrees"));
    if (holds(x, y)) return [x, y];
    if (holds(y, x)) return noValue("latitude and longitude swapped", raw);
    return noValue(Math.abs(x) > 90 || Math.abs(y) > 180 ? "no latitude and longitude" : "outside the alphabet", raw);
  };
  return { box, settings, point };
}

function places(table: Table): Plane {
  const { box, settings, point } = boxOf(table);
  const [south, west, north, east] = box;
  const cells = cellsOf(table, [0, 0]);
  const shape = [cells.rows!, cells.columns!];
  const low = [south, west];
  const spans = [north - south, east - west];
  return planeOf({
    ...settings,
    ...cells,
    // The operations and their order are docs/values.md's.
    accept: (raw) =>
      point(raw).map((degree, axis) =>
        Math.min(Math.floor(((degree - low[axis]) / spans[axis]) * shape[axis]), shape[axis] - 1),
      ),
  });
}

function coordinates(table: Table): Plane {
  const { settings, point } = boxOf(table);
  const steps = ["latitude_steps", "longitude_steps"].map((key) => table.whole(key, 1)) as unknown as Cell;
  if (Math.max(...steps) > 2 ** 30 / 200) table.bad("latitude_steps");
  return planeOf({
    ...settings,
    steps,
    accept: (raw) => point(raw).map((degree, axis) => Math.floor(degree * steps[axis] + 0.5)),
  });
}

/** All combinations of a value of each attribute, the last one running fastest. */
export function attributesOf(names: readonly string[], alphabets: readonly Alphabet[]): Attributes {
  const parts = alphabets.reduce((sum, one) => sum + one.parts, 0);
  const pieces = (value: unknown): Value[] => {
    if (!Array.isArray(value) || value.length !== parts) return noValue(`no list or object of ${names}`, value);
    let start = 0;
    return alphabets.map((one) => (one.parts === 1 ? value[start++] : value.slice(start, (start += one.parts))));
  };
  return {
    ...PLAIN,
    shape: "several",
    names,
    alphabets,
    parts,
    pieces,
    size: alphabets.reduce((product, one) => product * one.size, 1),
    accept: (raw) => {
      const own = isTable(raw) ? names.map((name) => (Object.hasOwn(raw, name) ? raw[name] : undefined)) : pieces(raw);
      return alphabets.flatMap((one, index) => one.accept(own[index]) as string);
    },
    locate: (value) => {
      const own = pieces(value).map((part, index) => alphabets[index].locate(part));
      return own.includes(-1) ? -1 : own.reduce((sum, one, index) => sum * alphabets[index].size + one, 0);
    },
    at: (index) => {
      const found: Value[] = [];
      for (const one of [...alphabets].reverse()) {
        found.unshift(one.at(index % one.size));
        index = Math.floor(index / one.size);
      }
      return found.flat() as Value;
    },
  };
}

function attributes(table: Table): Attributes {
  const names = table.list<string>("names", (one) => isText(one) && /^[\p{L}_][\p{L}\p{N}_]*$/u.test(one));
  const inner = table
    .list("alphabets", () => true, names.length)
    .map((one, index) => table.table(names[index], one).build(SINGLE));
  if (names.length < 2 || new Set(names.map((name) => name.toLowerCase())).size < names.length) {
    table.bad("names");
  }
  return attributesOf(names, inner);
}

/** Everything but attributes, which are not made of attributes. */
const SINGLE: Record<string, (table: Table) => Alphabet> = {
  categories,
  integers,
  grid,
  lattice,
  scale,
  places,
  coordinates,
  bins,
  dates,
  hours,
  weekdays,
  circle,
};

export function alphabetIn(table: Table): Alphabet {
  return table.build({ ...SINGLE, attributes });
}
