/** What this browser keeps of a person who takes part: the report until it is sent, refusals, a secret; never the answer. */
import { newSecret } from "/client/confide.js";

/** What is kept of a report that was drawn, until it is sent: never the answer itself. */
export interface Drawn {
  report: unknown;
  groups: Record<string, string>;
  /** Whether the person pressed Send. */
  isConfirmed: boolean;
  /** An invitation or a token, where the survey asks for one. */
  code?: string;
}

const SECRET = "confide secret";
/** Which survey this is, as its address says. */
export const fingerprint = location.pathname.split("/").pop() ?? "";
/** Where a report is kept; tabs hear of its changes by this name. */
export const KEY = `confide drawn ${fingerprint}`;
/** How many reports of this browser were refused, and why the last one: they are in the ledger, and in no count. */
const REFUSED = `confide refused ${fingerprint}`;

export function drawn(): Drawn | null {
  const found = kept(KEY) as Partial<Drawn> | null;
  // Whatever else is there, such as half a record, is no report: the queue knows whether one waits.
  return found && typeof found.isConfirmed === "boolean" && "report" in found
    ? ({ groups: {}, ...found } as Drawn)
    : null;
}

export function keep(record: Drawn | null): void {
  store(KEY, record);
}

/** What the browser does not keep, for as long as this page is open. */
const memory = new Map<string, unknown>();

function kept(key: string): unknown {
  try {
    const text = localStorage.getItem(key);
    return text === null ? (memory.get(key) ?? null) : (JSON.parse(text) as unknown);
  } catch {
    return memory.get(key) ?? null;
  }
}

function store(key: string, value: unknown): void {
  memory.delete(key);
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(value));
  } catch {
    memory.set(key, value);
  }
}

/** Reports of this browser that the collector refused. */
export function refusals(): { count: number; words: string } {
  const found = kept(REFUSED) as { count?: unknown; words?: unknown } | null;
  return typeof found?.count === "number" && typeof found.words === "string"
    ? { count: found.count, words: found.words }
    : { count: 0, words: "" };
}

/** Do something in one tab at a time, where the browser can. */
export function alone<T>(task: () => Promise<T>): Promise<T> {
  return "locks" in navigator ? (navigator.locks.request(KEY, task) as Promise<T>) : task();
}

/** One more report of this browser was refused. */
export function noteRefused(words: string): void {
  store(REFUSED, { count: refusals().count + 1, words });
}

/** The person's secret, made once. */
export function secret(): string {
  let found = localStorage.getItem(SECRET);
  if (found === null) localStorage.setItem(SECRET, (found = newSecret()));
  return found;
}
