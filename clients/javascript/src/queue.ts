/** Reports on their way: counted in a ledger before they are kept, kept until the collector has them. */
import { randomHex } from "./bits.js";
import { refuse, shown } from "./errors.js";
import { compare, fraction, ofShortest, plus, times, type Fraction } from "./exact.js";
import type { Json } from "./json.js";
import { epsilonsOf } from "./promise.js";
import { browserStorage, changed, type Storage } from "./storage.js";
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

/** How often each epsilon was given; of permanent noise, how often each of its values was reported. */
interface Page {
  reports: Record<string, number>;
  values: Record<string, number>;
}

interface Kept {
  pages: Record<string, Page>;
  queue: Batch[];
  /** Nothing is sent before, in milliseconds. */
  until: number;
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
const LONGEST_WAIT = 86400;

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
  add(report: Report, groups: Record<string, string> = {}): Promise<void> {
    const { fingerprint, groups: known } = this.#survey;
    if (!made.has(report) || report.survey !== fingerprint) refuse("report", "This is no report of survey.blur.");
    const names = Object.keys(known);
    const own = names.filter((name) => Object.hasOwn(groups, name) && known[name].includes(groups[name]));
    if (own.length < names.length || Object.keys(groups).length > names.length) {
      refuse("report", `The survey's groups are ${shown(known)}; got ${shown(groups)}.`);
    }
    const beside = own.length ? { groups: { ...groups } } : {};
    return this.#change((kept) => {
      if (kept.queue.length >= this.#most) refuse("full", `${this.#most} reports wait already.`);
      this.#spend(kept, report.tag);
      kept.queue.push({ survey: fingerprint, batch: randomHex(16), day: null, reports: [report.data], ...beside });
    });
  }

  /** How many reports wait, and what this person has given so far under this survey. */
  status(): Promise<{ waiting: number; reports: number; epsilon: number }> {
    return this.#change((kept) => {
      const page = pageOf(kept, this.#survey.fingerprint);
      const { reports, epsilon } = spent(page, this.#survey);
      return { waiting: this.#waiting(kept).length, reports, epsilon: Number(epsilon.n) / Number(epsilon.d) };
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
        const wait = kept.until - Date.now();
        if (wait > 0 && waiting.length) result.retryAfter = Math.ceil(wait / 1000);
        if (wait > 0 || !waiting.length) return null;
        // Written before it leaves: whatever becomes of the answer, the same message goes again.
        waiting[0].day ??= new Date().toISOString().slice(0, 10);
        return waiting[0];
      });
      if (!next || !(await this.#post(target, next, options, result))) return result;
    }
  }

  /** Sends one batch, and says whether to go on. */
  async #post(url: URL, batch: Batch, { token, invitation }: SendOptions, result: Sent): Promise<boolean> {
    const headers: Record<string, string> = { "content-type": "application/json" };
    if (token) headers.authorization = `Bearer ${token}`;
    if (invitation) headers["confide-invitation"] = invitation;
    let status = 0;
    let answer: { accepted?: number; rejected?: { reason?: string }[]; error?: { message?: string } } | null = null;
    let after: string | null = null;
    try {
      const response = await fetch(url, {
        method: "POST",
        headers,
        body: JSON.stringify(batch),
        keepalive: true,
        credentials: "omit",
        redirect: "error",
        referrerPolicy: "no-referrer",
      });
      status = response.status;
      after = response.headers.get("retry-after");
      answer = await response.json();
    } catch {
      if (status === 200) status = 0; // an answer that broke off is none
    }
    const said = answer?.error?.message ?? answer?.rejected?.[0]?.reason ?? `status ${status}`;
    const isOver = REFUSED.includes(status);
    if (isOver || status === CLOSED) {
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
      const seconds = Number(after) || 60;
      result.retryAfter = Math.ceil(Math.min(Math.max(seconds, 1), LONGEST_WAIT));
      await this.#change((kept) => void (kept.until = Date.now() + result.retryAfter! * 1000));
    }
    return false;
  }

  #waiting(kept: Kept): Batch[] {
    return kept.queue.filter((one) => one.survey === this.#survey.fingerprint);
  }

  #change<Result>(change: (kept: Kept) => Result): Promise<Result> {
    return changed<Kept, Result>(this.#storage, { pages: {}, queue: [], until: 0 }, change);
  }

  /** Enters a report in the ledger: on the survey's page, and on that of the pin, which all surveys under it share. */
  #spend(kept: Kept, tag: string | null): void {
    const { fingerprint, limits, pin } = this.#survey;
    const epsilon = epsilonsOf(this.#survey)[0];
    const pages: [string, number | null, number | null][] = [[fingerprint, limits.reports, limits.epsilon]];
    if (pin && "epsilon" in pin) pages.push([`pin ${pin.epsilon} per ${pin.per}`, pin.reports ?? null, null]);
    for (const [name, mostReports, mostEpsilon] of pages) {
      const page = pageOf(kept, name);
      if (tag) page.values[tag] = (page.values[tag] ?? 0) + 1;
      else page.reports[epsilon] = (page.reports[epsilon] ?? 0) + 1;
      const now = spent(page, this.#survey);
      const isOver = mostEpsilon !== null && compare(now.epsilon, ofShortest(mostEpsilon)) > 0;
      if (isOver || now.reports > (mostReports ?? Infinity)) {
        refuse("limit", `One person may give ${isOver ? `epsilon ${mostEpsilon}` : `${mostReports} reports`} at most.`);
      }
    }
  }
}

function pageOf(kept: Kept, name: string): Page {
  return (kept.pages[name] ??= { reports: {}, values: {} });
}

/** What a page adds up to. A value under permanent noise costs once; with a fresh second round, no more than it lasts. */
function spent({ reports, values }: Page, survey: Survey): { reports: number; epsilon: Fraction } {
  const [once, lasting] = epsilonsOf(survey).map(ofShortest);
  let count = 0;
  let epsilon = fraction(0n);
  const enter = (cost: Fraction, number: number): void => {
    epsilon = plus(epsilon, times(cost, fraction(BigInt(number))));
  };
  for (const [each, number] of Object.entries(reports)) {
    count += number;
    enter(ofShortest(Number(each)), number);
  }
  for (const number of Object.values(values)) {
    const isBelow = lasting && compare(times(once, fraction(BigInt(number))), lasting) < 0;
    count += lasting ? number : 1;
    if (isBelow) enter(once, number);
    else enter(lasting ?? once, 1);
  }
  return { reports: count, epsilon };
}
