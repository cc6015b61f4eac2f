/** JSON that is understood: plain data, read with suspicion, and written in one canonical form (RFC 8785). */
import { refuse, shown } from "./errors.js";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Entries = { [key: string]: Json };

/** Deeper than any survey goes; a deeper document would only exhaust the stack. */
const DEEPEST = 24;

const bad = (why: string): never => refuse("survey", why);

/** A document as plain data of its own, refusing numbers that JavaScript cannot hold. */
export function readJson(given: unknown): Json {
  let found: Json = null;
  let again: string | undefined;
  try {
    const text = typeof given === "string" ? given : JSON.stringify(given);
    found = JSON.parse(text);
    again = repeatedKey(text);
  } catch (error) {
    bad(`No valid JSON: ${error}`);
  }
  if (again !== undefined) bad(`${shown(again)} stands twice in one object.`);
  inspect(found, 0);
  return found;
}

/** A key that stands twice in one object of a text that is valid JSON; the parser would take the last in silence. */
function repeatedKey(text: string): string | undefined {
  const open: (Set<string> | null)[] = []; // null for a list
  let isKey = false;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],]/g)) {
    const keys = open.at(-1);
    if (token === "{" || token === "[") open.push(token === "{" ? new Set() : null);
    else if (token === "}" || token === "]") open.pop();
    else if (token !== "," && isKey && keys) {
      const key = JSON.parse(token);
      if (keys.has(key)) return key;
      keys.add(key);
    }
    isKey = token === "{" || token === ","; // of an object; in a list nothing is a key
  }
  return;
}

const SURROGATES = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

function inspect(value: Json, depth: number): void {
  if (depth > DEEPEST) bad("It is nested too deep.");
  if (typeof value === "number" && !(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) {
    bad(`${value} lies beyond 2^53 - 1, too large for JavaScript.`);
  }
  if (typeof value === "string" && SURROGATES.test(value)) bad(`${shown(value)} has half a character.`);
  if (value !== null && typeof value === "object") {
    for (const [key, one] of Object.entries(value)) {
      inspect(key, depth);
      inspect(one, depth + 1);
    }
  }
}

/** The one form of a document that its fingerprint is taken of: RFC 8785. */
export function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (value !== null && typeof value === "object") {
    // Keys are sorted by UTF-16 code units, which is how JavaScript sorts texts.
    const keys = Object.keys(value).sort();
    return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join()}}`;
  }
  return JSON.stringify(value); // which writes -0 as 0
}

/** A table of a survey: its own entries, never inherited ones, each read as what it must be. */
export class Table {
  readonly place: string;
  readonly entries: Entries;
  readonly #read = new Set<string>();
  readonly #inner = new Map<string, Table>();

  constructor(value: Json | undefined, place: string) {
    this.place = place;
    this.entries = value as Entries;
    if (value === null || typeof value !== "object" || Array.isArray(value)) bad(`${place} is no table.`);
  }

  /** Refuses what was not read: whoever wrote it meant something. */
  finish(): void {
    const other = Object.keys(this.entries).find((key) => !this.#read.has(key));
    if (other !== undefined) this.bad("the key", other);
    for (const table of this.#inner.values()) table.finish();
  }

  /** Refuses an entry. The survey was written by Python, which says at more length what may stand there. */
  bad(key: string, value: unknown = this.get(key)): never {
    const got = value === undefined ? "" : `, ${shown(value)},`;
    return bad(`${this.place ? `${this.place}: ` : ""}${key}${got} is not understood.`);
  }

  get(key: string): Json | undefined {
    this.#read.add(key);
    return Object.hasOwn(this.entries, key) ? this.entries[key] : undefined;
  }

  table(key: string, value = this.get(key)): Table {
    let table = this.#inner.get(key);
    if (!table) this.#inner.set(key, (table = new Table(value, this.place ? `${this.place}.${key}` : key)));
    return table;
  }

  /** An entry, or what stands for it where there is none, that passes a test. */
  #passing(key: string, fallback: Json | undefined, isRight: (value: Json) => boolean): Json {
    const value = this.get(key) ?? fallback;
    return value !== undefined && isRight(value) ? value : this.bad(key);
  }

  number(key: string, fallback?: number, least = -Infinity): number {
    return this.#passing(key, fallback, (value) => typeof value === "number" && value >= least) as number;
  }

  whole(key: string, least: number, fallback?: number): number {
    return this.#passing(key, fallback, (value) => Number.isInteger(value) && (value as number) >= least) as number;
  }

  positive(key: string, fallback?: number): number {
    return this.number(key, fallback, Number.MIN_VALUE);
  }

  text(key: string, fallback?: string): string {
    return this.#passing(key, fallback, (value) => typeof value === "string") as string;
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
