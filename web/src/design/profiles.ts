/**
 * What a file holds, without anybody's value: counts, round numbers, and texts that ten people share.
 *
 * The same as confide.data.files.profiles makes (tests/studio/test_dropped_files.py compares them), so that a file is read
 * here, in the tab, and the studio's server proposes a survey from the profile alone.
 */

const FEWEST = 10;
const PIECE = 2 ** 20;
const PIECES = 32;
const MOST_COLUMNS = 200;
const MOST_TEXTS = 60;
const LONGEST = 60;
const SHARES = [0.05, 0.25, 0.5, 0.75, 0.95];
// What Python's str.strip takes away.
const BLANK = "\\t-\\r\\x1c- \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const AROUND = new RegExp(`^[${BLANK}]+|[${BLANK}]+$`, "g");

export interface ColumnProfile {
  name: string;
  filled: number;
  missing: number;
  distinct: number;
  alone: number;
  long: number;
  numbers: number;
  days: number;
  has_fractions: boolean;
  mark: string;
  shapes: Record<string, number>;
  words: Record<string, number>;
  numbers_at: (number | null)[];
  days_at: (string | null)[];
}

export interface Profile {
  rows: number;
  is_sample: boolean;
  width: number;
  columns: ColumnProfile[];
}

type Texts = Map<string, number>;

/** Read a file in this tab, and return its profile; throw an Error that says what is wrong. */
export async function profileOf(file: Blob): Promise<Profile> {
  const isSample = file.size > PIECE * PIECES;
  const starts = isSample
    ? Array.from({ length: PIECES }, (_, place) => Math.floor((place * (file.size - PIECE)) / (PIECES - 1)))
    : [0];
  let header: string[] = [];
  let delimiter = ",";
  let rows = 0;
  let strays = 0;
  let texts: Texts[] = [];
  for (const start of starts) {
    const bytes = new Uint8Array(await file.slice(start, isSample ? start + PIECE : file.size).arrayBuffer());
    const text = decoded(isSample ? whole(bytes, start === 0) : bytes, isSample && start > 0);
    let lines: string[][];
    if (start === 0) {
      const first = text.split(/\r\n|\r|\n/).find((line) => line.trim()) ?? "";
      if (!first) throw new Error("The file is empty; it should hold a header line and one row a person.");
      delimiter = [...",;\t"].find((mark) => first.includes(mark)) ?? ",";
      lines = rowsIn(text.replace(/^(?:[^\S\r\n]*(?:\r\n|\r|\n))+/, ""), delimiter, !isSample);
      header = (lines.shift() ?? []).map((name) => name.replace(AROUND, ""));
      refuseValues(header);
      texts = header.slice(0, MOST_COLUMNS).map(() => new Map());
    } else lines = rowsIn(text, delimiter, false);
    while (lines.length > 0 && isBlank(lines.at(-1)!)) lines.pop();
    for (const row of lines) {
      // A blank line is a row without a field, where there is one column as well.
      if (row.length !== header.length || (isBlank(row) && header.length === 1)) {
        strays++;
        continue;
      }
      rows++;
      texts.forEach((counts, place) => counts.set(row[place]!, (counts.get(row[place]!) ?? 0) + 1));
    }
  }
  if (rows === 0 && strays > 0)
    throw new Error(
      `No row has as many fields as the header, ${header.length}. Write texts that hold the delimiter in quotation marks, such as "58,000".`,
    );
  if (rows === 0) throw new Error("The file has no rows; it should hold one row a person.");
  const columns = texts.map((counts, place) => profileTexts(header[place]!, counts));
  return { rows, is_sample: isSample, width: header.length, columns };
}

/** The whole lines of a piece; the first line of all but the first piece is cut, and the last one of each. */
function whole(bytes: Uint8Array, isFirst: boolean): Uint8Array {
  const end = bytes.lastIndexOf(10);
  return bytes.subarray(isFirst ? 0 : bytes.indexOf(10) + 1, Math.max(end, 0));
}

function decoded(bytes: Uint8Array, isCut: boolean): string {
  try {
    return new TextDecoder("utf-8", { fatal: !isCut }).decode(bytes);
  } catch {
    throw new Error("The file is not UTF-8 text. Save it as CSV in UTF-8.");
  }
}

function isBlank(row: string[]): boolean {
  return row.length === 1 && row[0] === "";
}

function refuseValues(header: string[]): void {
  if (header.every((name) => /[0-9]/.test(name) && !/\p{L}/u.test(name)))
    throw new Error(
      "A header line of column names is needed; the first line holds values. Put the names on a line above.",
    );
}

/** The fields of each row of a text; quotes may hold delimiters and line ends. */
export function rowsIn(text: string, delimiter: string, isStrict: boolean): string[][] {
  if (!text.includes('"')) {
    const lines = text.split(/\r\n|\r|\n/);
    if (lines.at(-1) === "") lines.pop();
    return lines.map((line) => line.split(delimiter));
  }
  const rows: string[][] = [];
  let row: string[] = [];
  let field = "";
  let isQuoted = false;
  let isOpen = false;
  for (let at = 0; at < text.length; at++) {
    const mark = text[at]!;
    if (isQuoted) {
      if (mark !== '"') field += mark;
      else if (text[at + 1] === '"') {
        field += mark;
        at++;
      } else isQuoted = false;
    } else if (mark === '"' && !isOpen) isQuoted = isOpen = true;
    else if (mark === delimiter || mark === "\n" || mark === "\r") {
      row.push(field);
      field = "";
      isOpen = false;
      if (mark === delimiter) continue;
      if (mark === "\r" && text[at + 1] === "\n") at++;
      rows.push(row);
      row = [];
    } else {
      field += mark;
      isOpen = true;
    }
  }
  if (isQuoted && isStrict) throw new Error("The file is not valid CSV. Is a quotation mark left open?");
  if (row.length > 0 || isOpen) rows.push([...row, field]);
  return rows;
}

/** What is known of texts that so many rows have. */
export function profileTexts(name: string, texts: Texts): ColumnProfile {
  const counts: Texts = new Map();
  for (const [text, number] of texts) {
    const bare = text.replace(AROUND, "");
    counts.set(bare, (counts.get(bare) ?? 0) + number);
  }
  const missing = counts.get("") ?? 0;
  counts.delete("");
  const shapes: Texts = new Map();
  const votes = { ",": 0, ".": 0, "": 0 };
  const amounts = new Map<number, number>();
  const days: Texts = new Map();
  for (const [text, number] of counts) {
    const shape = shapeOf(text);
    if (!shape) continue;
    shapes.set(shape, (shapes.get(shape) ?? 0) + number);
    votes[markOf(shape)] += number;
  }
  const mark = votes[","] > votes["."] ? "," : ".";
  let fractions = 0;
  for (const [text, number] of counts) {
    if (/^[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])/.test(text))
      days.set(text.slice(0, 7), (days.get(text.slice(0, 7)) ?? 0) + number);
    else {
      const amount = amountOf(text, mark);
      if (amount === null) continue;
      amounts.set(amount, (amounts.get(amount) ?? 0) + number);
      if (amount % 1 !== 0) fractions += number;
    }
  }
  const all = [...counts];
  const sum = (some: Iterable<[unknown, number]>): number => [...some].reduce((total, [, one]) => total + one, 0);
  const numbers = [...amounts].sort(([one], [other]) => one - other);
  const shared = all.filter(([text, number]) => number >= FEWEST && lengthOf(text) <= LONGEST);
  return {
    name,
    filled: sum(counts),
    missing,
    distinct: counts.size,
    alone: all.filter(([, number]) => number === 1).length,
    long: sum(all.filter(([text]) => lengthOf(text) > LONGEST)),
    numbers: sum(amounts),
    days: sum(days),
    has_fractions: fractions >= FEWEST,
    mark,
    shapes: commonest([...shapes].filter(([, number]) => number >= FEWEST)),
    words: commonest(shared),
    numbers_at: rounded(quantiles(numbers)),
    days_at: quantiles([...days].sort(([one], [other]) => (one < other ? -1 : 1))),
  };
}

/** Characters as Python counts them. */
function lengthOf(text: string): number {
  return [...text].length;
}

function shapeOf(text: string): string {
  const isPlain = lengthOf(text) <= LONGEST && text.replace(/[^a-zA-Z]/g, "").length <= 8;
  return isPlain && /[0-9]/.test(text) ? text.replace(/[0-9]+/g, (run) => "9".repeat(Math.min(5, run.length))) : "";
}

function markOf(shape: string): "," | "." | "" {
  const marks = (shape.match(/(?<=9)[.,](?=9)/g) ?? []) as ("," | ".")[];
  if (marks.length === 0) return "";
  if (new Set(marks).size === 2) return marks.at(-1)!;
  if (marks.length > 1) return marks[0] === "." ? "," : ".";
  return /,9{3}(?!9)/.test(shape) ? "." : marks[0]!;
}

function amountOf(text: string, mark: string): number | null {
  const gap = mark === "," ? "." : ",";
  const digits = `([0-9]{1,3}(?:[${gap}'\\u2019 \\u00a0\\u202f][0-9]{3})+|[0-9]{1,15})`;
  const found = new RegExp(`^([^0-9]{0,5}?)${digits}(?:[${mark}]([0-9]{1,15}))?([^0-9]{0,5})$`, "u").exec(text);
  if (!found || /[-+].*[-+]/.test(found[1]!) || /[-+]/.test(found[4]!)) return null;
  const number = Number(`${found[2]!.replace(/[^0-9]/g, "")}.${found[3] ?? "0"}`);
  return found[1]!.includes("-") ? -number : number;
}

function commonest(counts: [string, number][]): Record<string, number> {
  const sorted = counts.sort(([one, many], [other, more]) => more - many || (one < other ? -1 : 1));
  return Object.fromEntries(sorted.slice(0, MOST_TEXTS));
}

function quantiles<T>(counts: [T, number][]): (T | null)[] {
  const total = counts.reduce((sum, [, number]) => sum + number, 0);
  return SHARES.map((share) => {
    if (Math.min(share, 1 - share) * total < FEWEST) return null;
    let below = 0;
    for (const [value, number] of counts) {
      below += number;
      if (below >= share * total) return value;
    }
    return null;
  });
}

function rounded(numbers: (number | null)[]): (number | null)[] {
  const [, first, middle, third] = numbers;
  const span = typeof first === "number" && typeof third === "number" ? third - first : 0;
  const scale = span || Math.abs(middle ?? 0);
  if (!scale) return numbers;
  const unit = Number(`1e${Number(scale.toExponential(6).split("e")[1]) - 1}`);
  return numbers.map((one) => (one === null ? null : Number((Math.floor(one / unit) * unit).toPrecision(12))));
}
