/** Texts as people write them: words, whole numbers and decimal numbers, by the rules of docs/values.md. */
import { isNumber, isText, refuse, shown } from "./errors.js";
import type { Table } from "./json.js";

/** JavaScript's blanks but for one, and Python's separators beside. */
export const BLANK = "(?:(?!\\ufeff)[\\s\\x1c-\\x1f\\x85])";
const BLANKS = `${BLANK}*`;

/** A pattern between blanks, which must be the whole text. */
export function whole(pattern: string, flags = ""): RegExp {
  return new RegExp(`^${BLANKS}${pattern}${BLANKS}$`, flags);
}

const INTEGER = whole("([+-]?\\d+)(?:[.]0*)?");
const REAL = whole("([+-]?(?:\\d+[.]?\\d*|[.]\\d+)(?:[eE][+-]?\\d+)?)");

/** A text without the blanks around it. */
export function trimmed(text: string): string {
  return text.replace(new RegExp(BLANKS, "g"), (blanks) => blanks && " ").replace(/^ | $/g, "");
}

export function isMissing(raw: unknown): boolean {
  return raw === null || raw === undefined || (isText(raw) && trimmed(raw) === "");
}

/** The value of a person cannot be used; the reason is that of Python's account of rows. */
export function noValue(reason: string, raw: unknown): never {
  return refuse("value", `${shown(raw)} cannot be used: ${reason}.`);
}

/** The digits of a decimal number in a text, if it is one. */
export const decimalIn = (text: string): string | undefined => REAL.exec(text)?.[1];

/** A finite number, given as one or as a text. */
export function realOf(raw: unknown, reason: string): number {
  const number = isNumber(raw) ? raw : isText(raw) ? Number(decimalIn(raw)) : NaN;
  return Number.isFinite(number) ? number : noValue(isMissing(raw) ? "missing" : reason, raw);
}

/** Whether a text is a whole number. */
export const isInteger = (text: unknown): boolean => isText(text) && INTEGER.test(text);

/** A whole number as it is written most simply, however large. */
export const simplest = (raw: unknown): string =>
  String(
    isText(raw)
      ? BigInt(INTEGER.exec(raw)![1].replace("+", ""))
      : Number.isInteger(raw)
        ? BigInt(raw as number)
        : integerOf(raw),
  );

/** A whole number, given as one or as a text; NaN where it is too large to be a value of anything. */
export function integerOf(raw: unknown): number {
  if (isMissing(raw)) return noValue("missing", raw);
  const digits = isText(raw) ? INTEGER.exec(raw)?.[1] : undefined;
  const number = isNumber(raw) ? raw : Number(digits);
  if (Number.isSafeInteger(number)) return number + 0; // and no minus zero
  if (digits !== undefined || Number.isInteger(number)) return NaN;
  const isReal = isNumber(raw) ? Number.isFinite(raw) : isText(raw) && decimalIn(raw.replaceAll("_", ""));
  return noValue(isReal ? "not a whole number" : "not a number", raw);
}

/** The fold of docs/values.md: case, blanks and the form of accents do not matter. */
export function fold(text: string): string {
  return trimmed(text).toLowerCase().replaceAll("\u03c2", "\u03c3").replaceAll("\u00df", "ss").normalize("NFC");
}

/** Texts that are taken for a word; undefined for those that are not. */
export function spelling(values: readonly (string | number)[], table: Table): (text: string) => string | undefined {
  const words = values.map(String);
  const exact = new Map<string, string>();
  const folded = new Map<string, string>();
  const isFolded = table.flag("fold");
  const other = table.get("other");
  if (!words.length || new Set(words).size < words.length) table.bad("values");
  if (other !== undefined && !values.includes(other as string)) table.bad("other");
  const learn = (names: Map<string, string>, name: string, word: string): void => {
    if (!name || (names.get(name) ?? word) !== word) table.bad("aliases", name);
    names.set(name, word);
  };
  const know = (name: string, word: string): void => {
    learn(exact, name, word);
    if (isFolded) learn(folded, fold(name), word);
  };
  for (const word of words) know(word, word);
  if (table.states("aliases")) {
    const aliases = table.table("aliases");
    for (const word of words)
      if (aliases.get(word)) for (const name of aliases.list<string>(word, isWord)) know(name, word);
  }
  return (text) => exact.get(text) ?? folded.get(fold(text)) ?? (other === undefined ? other : String(other));
}

/** Whether this is a text that is not empty; a NUL at its end would be lost in numpy. */
export function isWord(value: unknown): boolean {
  return isText(value) && !isMissing(value) && !value.endsWith("\0");
}
