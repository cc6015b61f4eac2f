/** Reports on their way: counted in a ledger before they are kept, kept until the collector has them. */
import { randomHex } from "./bits.js";
import { ConfideError, isCount, isNumber, isTable, isText, refuse, shown } from "./errors.js";
import { compare, fraction, ofShortest, times, toDouble, type Fraction } from "./exact.js";
import type { Json } from "./json.js";
import { total } from "./promise.js";
import { utf8 } from "./sha256.js";
import { browserStorage, type Storage } from "./storage.js";
import { made, type Report, type Survey } from "./survey.js";

/** A message as it will be sent, again and again if need be: the collector counts each batch id once. */
interface Batch {
  survey: string;
  batch: string;
  /** Set when it is sent for the first time, and no finer than that. */
  day: string | null;
  reports: Json[];
  groups?: Record<string, string>;
}

/** Reports with fresh noise, and by the tags of values with permanent noise those that count: one, or under two rounds all. */
interface Page {
  reports: number;
  values: Record<string, number>;
}

interface Kept {
  version: number;
  pages: Record<string, Page>;
  queue: Batch[];
  /** Nothing is sent before, in milliseconds. */
  until: number;
  /** For how long that was, should the clock be set back. */
  wait: number;
}

/** What a queue of this version keeps. A ledger that is not understood is none that may be counted on. */
function checked(kept: unknown): Kept {
  const isPage = (one: unknown): boolean =>
    isTable(one) && isCount(one.reports) && isTable(one.values) && Object.values(one.values).every(isCount);
  const isBatch = (one: unknown): boolean =>
    isTable(one) && isText(one.survey) && isText(one.batch) && Array.isArray(one.reports);
  const { version, pages, queue, until, wait } = Object(kept);
  const isLedger = version === VERSION && isTable(pages) && Object.values(pages).every(isPage);
  const isQueue = Array.isArray(queue) && queue.every(isBatch) && isNumber(until) && isCount(wait); // a clock may stand before 1970
  if (!isLedger || !isQueue)
    throw "the ledger is damaged, or of another version, so that nobody knows what was reported. Restore it.";
  return kept as Kept;
}

function readKept(text: string | null): Kept {
  if (text === null) return { version: VERSION, pages: {}, queue: [], until: 0, wait: 0 };
  let kept: unknown;
  try {
    kept = JSON.parse(text);
  } catch {
    // which is no ledger either
  }
  return checked(kept);
}

export interface QueueOptions {
  /** Where reports and the ledger are kept; the browser's own storage if left out. */
  storage?: Storage;
  /** How many reports may wait; 1,000 if left out. */
  most?: number;
}

export interface SendOptions {
  /** Sent as `Authorization: Bearer`, where the collector asks for one. */
  token?: string;
  /** Sent as `Confide-Invitation`. */
  invitation?: string;
}

/** What became of the reports that waited. */
export interface Sent {
  /** Reports that the collector has counted. */
  sent: number;
  /** Why others were refused for good; they are dropped. */
  refused: string[];
  /** Reports that still wait. */
  left: number;
  /** Why these wait: "offline", or what the collector said. */
  reason?: string;
  /** Seconds until it is worth trying again. */
  retryAfter?: number;
}

/** Answers after which a message is not sent again: counted or rejected, and refused as it is. */
const REFUSED = [200, 400, 409, 413, 415, 422];
const CLOSED = 410;
const VERSION = 1;
/** Bytes of a message that a browser sends on even when its page is closed; it refuses more than 64 KiB. */
const MOST_ALIVE = 60_000;
const LONGEST_WAIT = 86400;
/** Milliseconds after which a collector that says nothing is as good as none. */
const PATIENCE = 60_000;

export class Queue {
  readonly #survey: Survey;
  readonly #storage: Storage;
  readonly #most: number;

  constructor(survey: Survey, options: QueueOptions = {}) {
    this.#survey = survey;
    this.#storage = options.storage ?? browserStorage();
    this.#most = options.most ?? 1000;
  }

  /** Counts a report in the ledger and keeps it for sending, in one step. Refused where the survey's limits are used up. */
  async add(report: Report, groups: Record<string, string> = {}): Promise<void> {
    const { fingerprint, groups: known } = this.#survey;
    if (!made.has(report) || report.survey !== fingerprint) refuse("report", "No report of survey.blur.");
    const own = { ...groups };
    const names = Object.keys({ ...known, ...own });
    if (names.some((name) => !known[name]?.includes?.(own[name]))) {
      refuse("report", `The survey's groups are ${shown(known)}; got ${shown(groups)}.`);
    }
    const beside = names.length ? { groups: own } : {};
    return this.#change((kept) => {
      if (!(kept.queue.length < this.#most)) refuse("full", `${this.#most} reports wait.`);
      this.#spend(kept, report.tag);
      kept.queue.push({ survey: fingerprint, batch: randomHex(16), day: null, reports: [report.data], ...beside });
    });
  }

  /** How many reports wait, and what this person has given so far under this survey. */
  status(): Promise<{ waiting: number; reports: number; epsilon: number }> {
    return this.#change((kept) => {
      const page = pageOf(kept, this.#survey.fingerprint);
      const { reports, epsilon } = spent(page, this.#survey);
      return { waiting: this.#waiting(kept).length, reports, epsilon: toDouble(epsilon) };
    });
  }

  /**
   * Sends what waits to a collector, one report a message. What cannot be sent now is kept; what was sent, but not
   * answered, is sent again under the same batch id, so that it counts once.
   */
  async send(url: string | URL, options: SendOptions = {}): Promise<Sent> {
    const target = new URL("v1/reports", String(new URL(url, globalThis.location?.href)).replace(/\/*$/, "/"));
    const result: Sent = { sent: 0, refused: [], left: 0 };
    for (;;) {
      const next = await this.#change((kept) => {
        const waiting = this.#waiting(kept);
        result.left = waiting.length;
        const now = Date.now();
        kept.until = Math.min(kept.until, now + kept.wait);
        const wait = kept.until - now;
        if (!waiting.length) return null;
        if (wait > 0) {
          result.retryAfter = Math.ceil(wait / 1000);
          return null;
        }
        // Written before it leaves: whatever becomes of the answer, the same message goes again.
        waiting[0].day ??= new Date().toISOString().slice(0, 10);
        return waiting[0];
      });
      if (!next || !(await this.#post(target, next, options, result))) return result;
    }
  }

  /** Sends one batch, and says whether to go on. */
  async #post(url: URL, batch: Batch, { token, invitation }: SendOptions, result: Sent): Promise<boolean> {
    const body = JSON.stringify(batch);
    let status = 0;
    let answer: Answer | null = null;
    let seconds = 0;
    try {
      const response = await fetch(url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...(token && { authorization: `Bearer ${token}` }),
          ...(invitation && { "confide-invitation": invitation }),
        },
        body,
        keepalive: utf8(body).length <= MOST_ALIVE,
        credentials: "omit",
        redirect: "error",
        referrerPolicy: "no-referrer",
        signal: AbortSignal.timeout(PATIENCE), // also while an answer is on its way
      });
      status = response.status;
      seconds = Number(response.headers.get("retry-after"));
      answer = await response.json();
    } catch {
      if (status === 200) status = 0; // an answer that broke off is none
    }
    const said = answer?.error?.message ?? answer?.rejected?.[0]?.reason ?? `status ${status}`;
    // Of a collector, about this message: a stranger's page must not cost a report.
    const isAnswer =
      status === 200 ? isAbout(answer, batch) : isText(answer?.error?.code) && isText(answer.error.message);
    const isOver = isAnswer && REFUSED.includes(status);
    if (isOver || (isAnswer && status === CLOSED)) {
      await this.#change((kept) => {
        kept.queue = kept.queue.filter((one) => (isOver ? one.batch !== batch.batch : one.survey !== batch.survey));
        result.left = this.#waiting(kept).length;
      });
      if (status === 200 && answer?.accepted) result.sent++;
      else result.refused.push(said);
      return isOver;
    }
    result.reason = status ? said : "offline";
    // Not allowed, or unknown there: for the application to mend. Anything else passes.
    if (status && ![401, 403, 404].includes(status)) {
      result.retryAfter = Math.ceil(Math.min(Math.max(seconds || 60, 1), LONGEST_WAIT));
      await this.#change((kept) => {
        kept.wait = result.retryAfter! * 1000;
        kept.until = Date.now() + kept.wait;
      });
    }
    return false;
  }

  #waiting(kept: Kept): Batch[] {
    return kept.queue.filter((one) => one.survey === this.#survey.fingerprint);
  }

  /** What `change` returns, once its change is kept; any failure of the storage is an error of this client. */
  async #change<Result>(change: (kept: Kept) => Result): Promise<Result> {
    let results: Result[] = [];
    try {
      await this.#storage.update((text) => {
        const kept = readKept(text);
        results = [change(kept)];
        return JSON.stringify(checked(kept)); // what nobody could read again is not written
      });
      if (!results.length) throw "no change";
    } catch (error) {
      if (error instanceof ConfideError) throw error;
      refuse("storage", `The storage fails: ${error}`);
    }
    return results[0];
  }

  /** Enters a report in the ledger: on the survey's page, and on that of the pin, which all surveys under it share. */
  #spend(kept: Kept, tag: string | null): void {
    const { fingerprint, lasting, limits, pin } = this.#survey;
    const pages: [string, number | null, number | null][] = [[fingerprint, limits.reports, limits.epsilon]];
    if (pin?.epsilon !== undefined) pages.push([`pin ${pin.epsilon} per ${pin.per}`, pin.reports ?? null, null]);
    for (const [name, mostReports, mostEpsilon] of pages) {
      const page = pageOf(kept, name);
      if (!tag) page.reports++;
      else page.values[tag] = lasting && page.values[tag] ? page.values[tag] + 1 : 1; // the same report again is none
      const now = spent(page, this.#survey);
      const isOver = mostEpsilon !== null && compare(now.epsilon, ofShortest(mostEpsilon)) > 0;
      if (isOver || now.reports > (mostReports ?? Infinity)) {
        refuse("limit", `One person may give ${isOver ? `epsilon ${mostEpsilon}` : `${mostReports} reports`} at most.`);
      }
    }
  }
}

function pageOf(kept: Kept, name: string): Page {
  return (kept.pages[name] ??= { reports: 0, values: {} });
}

/**
 * What a page adds up to. A value under permanent noise costs once; under two rounds, what any number of its reports
 * promise, from the first on: they share one permanent output, so that what each promises does not add up.
 */
function spent({ reports, values }: Page, { guarantee, lasting }: Survey): { reports: number; epsilon: Fraction } {
  const counts = Object.values(values);
  return {
    reports: counts.reduce((sum, number) => sum + number, reports),
    epsilon: times(ofShortest(total(lasting ?? guarantee)), fraction(BigInt(reports + counts.length))),
  };
}

/** What a collector answers. */
interface Answer {
  survey?: string;
  batch?: string;
  accepted?: number;
  rejected?: { reason?: string }[];
  error?: { code?: string; message?: string };
}

/** Whether an answer names a message, and accounts for its reports. */
function isAbout(answer: Answer | null, { survey, batch, reports }: Batch): boolean {
  const { accepted, rejected } = answer ?? {};
  const isWhole = isCount(accepted) && Array.isArray(rejected) && accepted! + rejected.length === reports.length;
  return isWhole && answer!.survey === survey && answer!.batch === batch;
}
