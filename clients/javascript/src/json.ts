/** JSON that is understood: plain data, read with suspicion, and written in one canonical form (RFC 8785). */
import { isNumber, isTable, isText, refuse, shown } from "./errors.js";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Entries = { [key: string]: Json };

/** Deeper than any survey goes; a deeper document would only exhaust the stack. */
const DEEPEST = 24;

const bad = (why: string): never => refuse("survey", why);

/** A document as plain data of its own, refusing numbers that JavaScript cannot hold. */
export function readJson(given: unknown): Json {
  let found: Json = null;
  let text = "";
  try {
    text = isText(given) ? given : JSON.stringify(given);
    found = JSON.parse(text);
  } catch (error) {
    bad(`No JSON: ${error}`);
  }
  // The parser takes the last of two in silence: then it has fewer keys than the text.
  const keys = text.match(/"(?:[^"\\]|\\.)*"(?:\s*:)?/g)?.filter((one) => one.endsWith(":")).length ?? 0;
  if (keysIn(found, 0) < keys) bad("A key stands twice.");
  return found;
}

export const HALVES = /\p{Cs}/u; // that stand alone: pairs are characters

/** Inspects everything, and counts keys. */
function keysIn(value: Json, depth: number): number {
  if (depth > DEEPEST) bad("Nested too deep.");
  if (isNumber(value) && !(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) bad(`${value} is beyond 2^53 - 1.`);
  if (isText(value) && HALVES.test(value)) bad(`${shown(value)} has half a character.`);
  if (Object(value) !== value) return 0;
  return Object.entries(value as Entries).reduce(
    (sum, [key, one]) => sum + keysIn(key, depth) + keysIn(one, depth + 1),
    isTable(value) ? Object.keys(value).length : 0,
  );
}

/** The one form of a document that its fingerprint is taken of: RFC 8785. */
export function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (isTable(value)) {
    // Keys are sorted by UTF-16 code units, which is how JavaScript sorts texts.
    const keys = Object.keys(value).sort();
    return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join()}}`;
  }
  return JSON.stringify(value); // which writes -0 as 0
}

/** A table of a survey: its own entries, never inherited ones, each read as what it must be. */
export class Table {
  readonly place: string;
  readonly content: Entries;
  readonly #read = new Set<string>();
  readonly #inner = new Map<string, Table>();

  constructor(value: Json | undefined, place: string) {
    this.place = place;
    this.content = value as Entries;
    if (!isTable(value)) bad(`${place} is no table.`);
  }

  /** Refuses what was not read: whoever wrote it meant something. */
  finish(): void {
    const other = Object.keys(this.content).find((key) => !this.#read.has(key));
    if (other !== undefined) this.bad("the key", other);
    for (const table of this.#inner.values()) table.finish();
  }

  /** Refuses an entry. The survey was written by Python, which says at more length what may stand there. */
  bad(key: string, value: unknown = this.get(key)): never {
    const got = value === undefined ? "" : `, ${shown(value)},`;
    return bad(`${this.place ? `${this.place}: ` : ""}${key}${got} is not understood.`);
  }

  states(key: string): boolean {
    return this.get(key) !== undefined;
  }

  get(key: string): Json | undefined {
    this.#read.add(key);
    const value = Object.hasOwn(this.content, key) ? this.content[key] : undefined;
    return value === null ? this.bad(key, value) : value; // what is not there is left out
  }

  table(key: string, value = this.get(key)): Table {
    let table = this.#inner.get(key);
    if (!table) this.#inner.set(key, (table = new Table(value, this.place ? `${this.place}.${key}` : key)));
    return table;
  }

  /** A table that may be left out; where it stands it says something. */
  optional(key: string): Table {
    const value = this.get(key);
    const table = this.table(key, value ?? {});
    return value && !Object.keys(value).length ? this.bad(key) : table;
  }

  /** An entry, or what stands for it where there is none, that passes a test. */
  #passing(key: string, fallback: Json | undefined, isRight: (value: Json) => boolean): Json {
    const value = this.get(key) ?? fallback;
    return value !== undefined && isRight(value) ? value : this.bad(key);
  }

  number(key: string, fallback?: number, least = -Infinity): number {
    return this.#passing(key, fallback, (value) => isNumber(value) && value >= least) as number;
  }

  whole(key: string, least: number, fallback?: number): number {
    return this.#passing(key, fallback, (value) => Number.isInteger(value) && (value as number) >= least) as number;
  }

  positive(key: string, fallback?: number): number {
    return this.number(key, fallback, Number.MIN_VALUE);
  }

  text(key: string, fallback?: string): string {
    return this.#passing(key, fallback, isText) as string;
  }

  flag(key: string): boolean {
    return this.#passing(key, false, (value) => typeof value === "boolean") as boolean;
  }

  list<Entry extends Json>(key: string, isEntry: (one: Json) => boolean, length?: number): Entry[] {
    const isRight = (value: Json): boolean =>
      Array.isArray(value) && (length ?? value.length) === value.length && value.every(isEntry);
    return this.#passing(key, undefined, isRight) as Entry[];
  }

  /** What is made of the table by its kind. */
  build<Made, From = Table>(kinds: Record<string, (from: From) => Made>, from: From = this as unknown as From): Made {
    const kind = this.text("kind");
    return Object.hasOwn(kinds, kind) ? kinds[kind](from) : this.bad("kind");
  }
}
