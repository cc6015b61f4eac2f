/** What the studio asks of its server (src/confide/studio), and how: one place for the token, for errors and for jobs. */
import type { Draft, Preview, Progress } from "./schema";

export type * from "./schema";

/** What a job does, and with what. */
export type Work =
  /** Seed 0 gives the numbers that `Preview.code.python` prints. */
  | { kind: "expect"; draft: Draft; seed: number }
  /** Solve for epsilon (or people, where `solve` says so), so that the expected error is at most the target. */
  | {
      kind: "plan";
      draft: Draft;
      solve: "epsilon" | "people" | "error";
      target: { emd?: number; width?: number; query?: string };
    }
  /** Without `more`: estimate and answers alone, and what else is known already. */
  | {
      kind: "look";
      survey: string;
      queries: string[];
      methods: string[];
      band: boolean;
      groups: boolean;
      diagnosis: boolean;
      /** Of a map: the values of each district, by its name. */
      districts: { name: string; cells: number[] }[];
      more: boolean;
    }
  | {
      kind: "play";
      dataset: string;
      mechanism: string;
      epsilon: number;
      people: number;
      methods: string[];
      seed: number /** Milliseconds: what takes longer is left. */;
      within?: number;
    }
  /** Let made-up people answer a survey of this collector that is marked as simulated. */
  | { kind: "simulate"; survey: string; people: number };

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
export async function ask<T>(
  path: string,
  body?: unknown,
  settings: { method?: string; signal?: AbortSignal; headers?: Record<string, string> } = {},
): Promise<T> {
  const answer = await reach(path, body, settings);
  return (await answer.json()) as T;
}

/** The same for what is no JSON: a page, a file. */
export async function reach(
  path: string,
  body?: unknown,
  settings: { method?: string; signal?: AbortSignal; headers?: Record<string, string> } = {},
): Promise<Response> {
  const token = sessionStorage.getItem(KEY);
  const headers: Record<string, string> = { ...settings.headers };
  if (token) headers["Authorization"] = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const request: RequestInit = {
    method: settings.method ?? (body === undefined ? "GET" : "POST"),
    headers,
    credentials: "omit",
    cache: "no-store",
  };
  if (body !== undefined) request.body = typeof body === "string" ? body : JSON.stringify(body);
  if (settings.signal) request.signal = settings.signal;
  // Work is stopped when its page is left, too.
  if (path.endsWith("/stop")) request.keepalive = true;
  let answer: Response;
  try {
    answer = await fetch(path, request);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Trouble(
      "gone",
      "The server does not answer. Start it again with `confide studio`; this page goes on by itself.",
    );
  }
  if (answer.ok) return answer;
  const said = (await answer.json().catch(() => null)) as { error?: { code?: string; message?: string } } | null;
  throw new Trouble(
    said?.error?.code ?? String(answer.status),
    said?.error?.message ?? `The server answered ${answer.status}.`,
    Number(answer.headers.get("retry-after") ?? 0),
  );
}

/** Do long work in the server: told of its progress, ended by the signal. */
export async function work<T>(
  what: Work,
  settings: { signal?: AbortSignal; tell?: (progress: Progress) => void } = {},
): Promise<T> {
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
async function follow(
  path: string,
  settings: { signal?: AbortSignal; tell?: (progress: Progress) => void },
): Promise<unknown> {
  for (let pause = 15; ; pause = Math.min(500, pause * 1.4)) {
    if (settings.signal?.aborted) throw new DOMException("stopped", "AbortError");
    const found = await ask<Progress>(path);
    if (found.state === "done") return found.answer;
    if (found.state === "failed")
      throw new Trouble(found.error?.code ?? "failed", found.error?.message ?? "This failed.");
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
export function latest<I, O>(
  task: (input: I, signal: AbortSignal) => Promise<O>,
  show: (output: O, input: I) => void,
  fail: (trouble: unknown) => void,
  isLive = false,
): (input: I) => void {
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
