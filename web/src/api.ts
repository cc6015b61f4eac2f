/** What the studio asks of its server (src/confide/studio), and how: one place for the token, for errors and for jobs. */

/** Values that a survey asks for, as its file says them: `{ kind: "integers", low: 0, high: 99, unit: "year" }`. */
export interface AlphabetTable {
  kind: string;
  [setting: string]: unknown;
}

/** A survey that is being designed. */
export interface Draft {
  survey: { name: string; title: string; alphabet: AlphabetTable; groups?: Record<string, string[]>; limits?: Record<string, unknown> };
  /** A kind such as "truncated-geometric"; where it is missing, the one that suits the values. */
  mechanism?: string;
  epsilon: number;
  people: number;
  /** What the truth may look like: a bundled dataset of the same values, or a shape ("peaked", "two humps", ...). */
  guess: string;
}

/** How values lie and are called; shares are lists in this order. */
export interface Values {
  kind: string;
  size: number;
  unit: string | null;
  labels: string[];
  /** Of lines: where each value lies. */
  positions: number[] | null;
  /** Of planes: rows and columns, and of each value its row (0 is south) and column; of places the map's degrees too; how wide a cell is, in the unit. */
  plane: { rows: number; columns: number; cells: [number, number][]; degrees: { south: number; north: number; west: number; east: number } | null; spacing?: number } | null;
}

export interface Named {
  kind: string;
  name: string;
  remark: string;
}

/** What a draft would be, at once: no simulation but a thousand draws. */
export interface Preview {
  survey: { text: string; json: string; fingerprint: string };
  values: Values;
  mechanism: Named;
  /** Those that suit these values, the present one among them. */
  mechanisms: Named[];
  /** The slider of epsilon (logarithmic), and what epsilon is per ("year", "cell"; empty for any two values). */
  epsilon: { value: number; low: number; high: number; usual: number; per: string };
  /** The promise in sentences, the odds first: "Even odds that a person is 37 rather than 38 become at most 51 to 49." */
  promise: string[];
  /** `odds` of 100 is what even odds become at most: 51.25 for "51 to 49". Of places `apart` says how far: "500 m". */
  odds: { words: string; from: string; to: string; odds: number; apart: string }[];
  /**
   * The true value that the picture is for, and what may leave the phone: probabilities, and how often each came in a
   * thousand draws, both in the order of `reports.values`. Of bits (rappor) both are of each bit, and add up to no 1.
   */
  value: { index: number; label: string };
  reports: { values: Values; probabilities: number[]; drawn: number[]; words: string };
  guesses: { name: string; title: string }[];
  /** Extremes: "Nearly the truth", "Nearly nothing", too few people. */
  warnings: string[];
  code: Code;
}

/** The same in files, commands and Python. */
export interface Code {
  commands: string;
  python: string;
}

/** One simulated survey of a draft: what the picture would be. */
export interface Expectation {
  values: Values;
  truth: number[];
  /** Shares of the reports, over the values (reports outside are left out, and said in `words`). */
  reports: number[];
  estimate: number[];
  windows: Window[];
  emd: { value: number; unit: string } | null;
  total_variation: number;
  /** "With 50,000 people, windows of about 12 years can be told apart." */
  words: string;
  fewest: string | null;
}

export interface Window {
  label: string;
  /** Positions in `values`. */
  indices: number[];
  is_told: boolean;
  estimate: number;
  low: number;
  high: number;
}

/** An answer with its interval: a query, the mean, the median. */
export interface Answer {
  query: string;
  estimate: number | string;
  low: number | string;
  high: number | string;
  level: number;
  rests_on: string;
  /** As a person reads it: "4.0 %, between 0.0 and 8.9 %". */
  words: string;
  error?: string;
}

/** One method's estimate, for methods side by side. */
export interface MethodShown {
  /** As in design.css: "stacked", "ibu", "held-out", "mle", "normalized", "projected", "smooth", "reports". */
  colour: string;
  name: string;
  distribution: number[];
  emd: { value: number; unit: string } | null;
  words: string;
}

/** What is known of a survey from the reports that came so far. */
export interface Look {
  version: number;
  survey: { fingerprint: string; name: string; title: string; is_simulated: boolean; is_closed: boolean };
  values: Values;
  accepted: number;
  rejected: Record<string, number>;
  promise: string[];
  /** Of each value's report how many came, as shares over the values (null where reports are no values). */
  reports: number[] | null;
  /** Pending ones are told before they are known: fit and windows take many times as long as the estimate. */
  fit: { verdict: string; words: string; is_good: boolean | null; is_pending?: boolean };
  /** First of all: whether the reports tell their people from a uniform population. */
  uniformity: { words: string; is_told: boolean };
  distribution: number[];
  windows: { words: string; windows: Window[]; is_pending?: boolean };
  band: { low: number[]; high: number[] } | null;
  statistics: Answer[];
  queries: Answer[];
  methods: MethodShown[];
  groups: { name: string; people: number; distribution: number[]; statistics: Answer[]; queries: Answer[] }[];
  differences: string[];
  diagnosis: { words: { head: string; words: string }[] } | null;
  details: { name: string; words: string }[];
  code: Code;
}

/** The paper's figures alive: methods on a bundled truth. */
export interface Playing {
  values: Values;
  people: number;
  truth: number[];
  reports: number[];
  methods: (MethodShown & { key: string })[];
  /** Methods for which there was no time within what was asked for. */
  left: string[];
  /** What was played: "10,000 people, the truncated geometric mechanism, 0.05 per year". */
  made: string;
}

export interface SurveySummary {
  survey: string;
  title: string;
  name: string;
  accepted: number;
  is_simulated: boolean;
  is_closed: boolean;
  version: number;
}

export interface Start {
  version: string;
  datasets: { name: string; title: string; people: number; alphabet: AlphabetTable; credit: string }[];
  /** Surveys to begin with: who is asked. */
  templates: { name: string; words: string; draft: Draft; /** How far off the answer may be, which epsilon and people of the draft meet. */ target: number }[];
  surveys: SurveySummary[];
  may_administer: boolean;
}

/** What a job does, and with what. */
export type Work =
  /** Seed 0 gives the numbers that `Preview.code.python` prints. */
  | { kind: "expect"; draft: Draft; seed: number }
  /** Solve for epsilon (or people, where `solve` says so), so that the expected error is at most the target. */
  | { kind: "plan"; draft: Draft; solve: "epsilon" | "people" | "error"; target: { emd?: number; width?: number; query?: string } }
  /** Other mechanisms at the same promise: the expected error of each. */
  | { kind: "rivals"; draft: Draft }
  /** Without `more`: estimate and answers alone, and what else is known already. */
  | { kind: "look"; survey: string; queries: string[]; methods: string[]; band: boolean; groups: boolean; diagnosis: boolean; more: boolean }
  | { kind: "play"; dataset: string; mechanism: string; epsilon: number; people: number; methods: string[]; seed: number; /** Milliseconds: what takes longer is left. */ within?: number }
  /** Let made-up people answer a survey of this collector that is marked as simulated. */
  | { kind: "simulate"; survey: string; people: number };

export interface Planned {
  words: string;
  remarks: string[];
  epsilon: number | null;
  people: number;
  expected: { value: number; unit: string; margin: number };
  is_reached: boolean;
  /** Made-up surveys a setting: few in a first answer (`Progress.partial`), which a better one follows. */
  repeats: number;
}

export interface Rivals {
  rivals: { kind: string; name: string; expected: number | null; margin: number | null; unit: string; trouble: string }[];
}

export interface Progress {
  state: "waiting" | "running" | "done" | "failed" | "stopped";
  done: number;
  of: number;
  words: string;
  /** What is known so far: of "expect" the Expectation without its windows, which take as long again; of "look" and "play" likewise, of "plan" a coarse Planned. Draw it at once. */
  partial?: unknown;
  answer?: unknown;
  error?: Trouble;
}

/** What went wrong, in words that say what to do: shown as they are. */
export class Trouble extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly retryAfter = 0,
  ) {
    super(message);
  }
}

const KEY = "confide token";

/** Take the token out of the address, where `confide studio` put it behind the #, and out of the history. */
export function takeToken(): string | null {
  const found = new URLSearchParams(location.hash.slice(1)).get("token");
  if (found) {
    sessionStorage.setItem(KEY, found);
    history.replaceState(null, "", `${location.pathname}#/`);
  }
  return sessionStorage.getItem(KEY);
}

export function setToken(token: string | null): void {
  if (token === null) sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, token);
}

/** Ask the server, and return what it says or throw a Trouble. */
export async function ask<T>(path: string, body?: unknown, settings: { method?: string; signal?: AbortSignal; headers?: Record<string, string> } = {}): Promise<T> {
  const answer = await reach(path, body, settings);
  return (await answer.json()) as T;
}

/** The same for what is no JSON: a page, a file. */
export async function reach(path: string, body?: unknown, settings: { method?: string; signal?: AbortSignal; headers?: Record<string, string> } = {}): Promise<Response> {
  const token = sessionStorage.getItem(KEY);
  const headers: Record<string, string> = { ...settings.headers };
  if (token) headers["Authorization"] = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const request: RequestInit = { method: settings.method ?? (body === undefined ? "GET" : "POST"), headers, credentials: "omit", cache: "no-store" };
  if (body !== undefined) request.body = typeof body === "string" ? body : JSON.stringify(body);
  if (settings.signal) request.signal = settings.signal;
  // Work is stopped when its page is left, too.
  if (path.endsWith("/stop")) request.keepalive = true;
  let answer: Response;
  try {
    answer = await fetch(path, request);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Trouble("gone", "The server does not answer. Start it again with `confide studio`; this page goes on by itself.");
  }
  if (answer.ok) return answer;
  const said = (await answer.json().catch(() => null)) as { error?: { code?: string; message?: string } } | null;
  throw new Trouble(said?.error?.code ?? String(answer.status), said?.error?.message ?? `The server answered ${answer.status}.`, Number(answer.headers.get("retry-after") ?? 0));
}

/** Do long work in the server: told of its progress, ended by the signal. */
export async function work<T>(what: Work, settings: { signal?: AbortSignal; tell?: (progress: Progress) => void } = {}): Promise<T> {
  const { job } = await ask<{ job: string }>("/studio/v1/jobs", what);
  const path = `/studio/v1/jobs/${job}`;
  const stop = (): void => void ask(`${path}/stop`, {}).catch(() => undefined);
  if (settings.signal?.aborted) stop();
  settings.signal?.addEventListener("abort", stop);
  try {
    return (await follow(path, settings)) as T;
  } finally {
    settings.signal?.removeEventListener("abort", stop);
  }
}

/** Ask how far a job is, again and again, until it ends. */
async function follow(path: string, settings: { signal?: AbortSignal; tell?: (progress: Progress) => void }): Promise<unknown> {
  for (let pause = 15; ; pause = Math.min(500, pause * 1.4)) {
    if (settings.signal?.aborted) throw new DOMException("stopped", "AbortError");
    const found = await ask<Progress>(path);
    if (found.state === "done") return found.answer;
    if (found.state === "failed") throw new Trouble(found.error?.code ?? "failed", found.error?.message ?? "This failed.");
    if (found.state === "stopped") throw new DOMException("stopped", "AbortError");
    settings.tell?.(found);
    await new Promise((done) => setTimeout(done, pause));
  }
}

/** Ask for a preview. It is never given up in the browser: the server would work on it all the same, and its place be taken. */
export async function previewed(draft: Draft, value: number | null): Promise<Preview> {
  const asked = (): Promise<Preview> => ask<Preview>("/studio/v1/preview", { draft, value });
  try {
    return await asked();
  } catch (error) {
    // Once more where it took too long: a server that has just begun has to load everything first.
    if (!(error instanceof Trouble && error.code === "slow")) throw error;
    return asked();
  }
}

// Milliseconds until a server that has no time is asked again, where it does not say when.
const PAUSE = 300;
// Work whose process was ended is begun again this often: work that ends its process each time is not, for ever.
const TRIES = 3;

/**
 * Work of which only the latest matters, such as a slider's: one is under way, the last one wanted waits, all others are
 * dropped. A server that has no time is asked again, by then for what is wanted last. `isLive` shows what was under way
 * too when something newer waits, so that a picture follows a slider that does not rest.
 */
export function latest<I, O>(task: (input: I, signal: AbortSignal) => Promise<O>, show: (output: O, input: I) => void, fail: (trouble: unknown) => void, isLive = false): (input: I) => void {
  let under: AbortController | null = null;
  let next: { input: I } | null = null;
  const once = async (input: I, tries: number): Promise<boolean> => {
    const own = (under = new AbortController());
    try {
      const output = await task(input, own.signal);
      if (next === null || isLive) show(output, input);
    } catch (error) {
      if (isBusy(error, tries)) {
        await new Promise((done) => setTimeout(done, error.retryAfter * 1000 || PAUSE));
        return false;
      }
      if (next === null && !(error instanceof DOMException && error.name === "AbortError")) fail(error);
    }
    return true;
  };
  const run = async (first: I): Promise<void> => {
    for (let wanted = first, tries = 1; ; tries++) {
      const isDone = await once(wanted, tries);
      if (next !== null) [wanted, next, tries] = [next.input, null, 0];
      else if (isDone) break;
    }
    under = null;
  };
  return (input) => {
    if (under === null) void run(input);
    else {
      next = { input };
      under.abort();
    }
  };
}

function isBusy(error: unknown, tries: number): error is Trouble {
  if (!(error instanceof Trouble)) return false;
  return ["busy", "429", "503", "unavailable"].includes(error.code) || (error.code === "ended" && tries < TRIES);
}
