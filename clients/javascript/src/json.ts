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
export interface Table {
  readonly place: string;
  readonly content: Entries;
  /** Refuses what was not read: whoever wrote it meant something. */
  finish(): void;
  /** Refuses an entry. The survey was written by Python, which says at more length what may stand there. */
  bad(key: string, value?: unknown): never;
  states(key: string): boolean;
  get(key: string): Json | undefined;
  table(key: string, value?: Json): Table;
  /** A table that may be left out; where it stands it says something. */
  optional(key: string): Table;
  number(key: string, fallback?: number, least?: number): number;
  whole(key: string, least: number, fallback?: number): number;
  positive(key: string, fallback?: number): number;
  text(key: string, fallback?: string): string;
  flag(key: string): boolean;
  list<Entry extends Json>(key: string, isEntry: (one: Json) => boolean, length?: number): Entry[];
  /** What is made of the table by its kind. */
  build<Made, From = Table>(kinds: Record<string, (from: From) => Made>, from?: From): Made;
}

export function tableOf(value: Json | undefined, place: string): Table {
  if (!isTable(value)) bad(`${place} is no table.`);
  const content = value as Entries;
  const read = new Set<string>();
  const inner = new Map<string, Table>();
  const get = (key: string): Json | undefined => {
    read.add(key);
    const found = Object.hasOwn(content, key) ? content[key] : undefined;
    return found === null ? refused(key, found) : found; // what is not there is left out
  };
  const refused = (key: string, found: unknown = get(key)): never => {
    const got = found === undefined ? "" : `, ${shown(found)},`;
    return bad(`${place ? `${place}: ` : ""}${key}${got} is not understood.`);
  };
  /** An entry, or what stands for it where there is none, that passes a test. */
  const passing = (key: string, fallback: Json | undefined, isRight: (found: Json) => boolean): any => {
    const stated = get(key);
    const found = stated ?? fallback;
    // What is as it would be anyway is left out, and must be: the fingerprint would be another.
    return stated !== fallback && isRight(found!) ? found : refused(key);
  };
  const table = (key: string, found = get(key)): Table => {
    let made = inner.get(key);
    if (!made) inner.set(key, (made = tableOf(found, place ? `${place}.${key}` : key)));
    return made;
  };
  const number = (key: string, fallback?: number, least = -Infinity): number =>
    passing(key, fallback, (found) => isNumber(found) && found >= least);
  const text = (key: string, fallback?: string): string => passing(key, fallback, isText);
  const own: Table = {
    place,
    content,
    finish: () => {
      const other = Object.keys(content).find((key) => !read.has(key));
      if (other !== undefined) refused("the key", other);
      for (const one of inner.values()) one.finish();
    },
    bad: refused,
    states: (key) => get(key) !== undefined,
    get,
    table,
    optional: (key) => {
      const found = get(key);
      const made = table(key, found ?? {});
      return found && !Object.keys(found).length ? refused(key) : made;
    },
    number,
    whole: (key, least, fallback) =>
      passing(key, fallback, (found) => Number.isInteger(found) && (found as number) >= least),
    positive: (key, fallback) => number(key, fallback, Number.MIN_VALUE),
    text,
    flag: (key) => passing(key, false, (found) => typeof found === "boolean"),
    list: (key, isEntry, length) =>
      passing(
        key,
        undefined,
        (found) => Array.isArray(found) && (length ?? found.length) === found.length && found.every(isEntry),
      ),
    build: (kinds, from = own as never) => {
      const kind = text("kind");
      return Object.hasOwn(kinds, kind) ? kinds[kind](from) : refused("kind");
    },
  };
  return own;
}
