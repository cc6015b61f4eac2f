/**
 * Estimates that follow the reports, not too often, and at once when the person asks for something.
 *
 * Two looks may be under way: a short one, which has the picture and the answers, and beside it a long one, which has what
 * takes seconds or on a map a minute: windows, groups, methods, the diagnosis. A question never waits for it, nor ends it.
 */
import { type Look, type Progress, Trouble, type Work, work } from "../shared/api.js";
import { fail } from "../shared/shell.js";
import type { District } from "./districts.js";

/** What a look is for. */
export interface Wanted {
  queries: string[];
  methods: string[];
  band: boolean;
  diagnosis: boolean;
  districts: District[];
}

/** Who is told. */
export interface Listener {
  show(look: Look): void;
  /** Under way: how far, and how to stop it; null when it is not. */
  busy(progress: Progress | null, stop: () => void): void;
  /** A look failed: whether questions were to blame, which are asked no more. */
  failed(message: string): boolean;
  /** Stopped by the person, until going on is pressed. */
  halted(goOn: () => void): void;
}

/** Milliseconds between two looks at least, and how many times the last one's own time. */
const LEAST = 1500;
const TIMES = 2;
/** Milliseconds that a look may still take when another one is wanted: one that is stopped begins from nothing. */
const GRACE = 3000;

/** What only the long look finds out. */
const REST = ["fit", "windows", "band", "groups", "differences", "methods", "diagnosis", "districts"] as const;

/** What a question may bring about; all else is no fault of its. */
const BLAMED = new Set(["queries", "no-answer", "failed", "too-large", "malformed", "ended"]);

export class Live {
  readonly #survey: string;
  readonly #listener: Listener;
  #wanted: Wanted = { queries: [], methods: [], band: false, diagnosis: false, districts: [] };
  #version = -1;
  #accepted = 0;
  #looked = -1;
  #under: AbortController | null = null;
  #notBefore = 0;
  #timer = 0;
  #isHalted = false;
  #isOver = false;
  #isWanted = false;
  /** The long look: under way, of which version, for what, when the next may begin, and what the last one found. */
  #behind: AbortController | null = null;
  #thorough = "";
  #known = -1;
  #later = 0;
  #longTimer = 0;
  #first: Look | null = null;
  #rest: Partial<Pick<Look, (typeof REST)[number]>> = {};

  constructor(survey: string, listener: Listener) {
    this.#survey = survey;
    this.#listener = listener;
  }

  /** The counts are of this version now. */
  tell(version: number, accepted: number): void {
    this.#version = version;
    this.#accepted = accepted;
    this.#run();
  }

  /** Ask for something else, at once. */
  want(wanted: Wanted): void {
    this.#wanted = wanted;
    this.again();
  }

  /** Ask no more for what was refused, in the looks to come. */
  drop(wanted: Wanted): void {
    this.#wanted = wanted;
  }

  /** Look again, whether or not reports came. What is under way may end, for a moment: stopped, its process is lost. */
  again(): void {
    this.#isWanted = true;
    this.#notBefore = 0;
    this.#isHalted = false;
    this.#give(this.#under, () => this.#isWanted);
    this.#give(this.#behind, () => this.#sought() !== this.#thorough);
    this.#later = 0;
    this.#run();
  }

  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#longTimer);
    this.#under?.abort();
    this.#behind?.abort();
  }

  /** Stop a look that is for something else than is wanted now, in a while. */
  #give(look: AbortController | null, isOther: () => boolean): void {
    if (look) setTimeout(() => (this.#under === look || this.#behind === look) && isOther() && look.abort(), GRACE);
  }

  /** What the long look is for: questions only where each group answers them. */
  #sought(): string {
    const { methods, band, diagnosis, districts, queries } = this.#wanted;
    return JSON.stringify([methods, band, diagnosis, districts, this.#rest.groups?.length ? queries : []]);
  }

  /** Stopped by the person: both. */
  readonly #stop = (): void => {
    this.#isHalted = true;
    this.#under?.abort();
    this.#behind?.abort();
    this.#listener.halted(() => this.again());
  };

  #tell = (progress: Progress): void => {
    if (!this.#isOver && !this.#isHalted) this.#listener.busy(progress, this.#stop);
  };

  #rested(): void {
    if (!this.#isOver && !this.#isHalted && !this.#under && !this.#behind) this.#listener.busy(null, this.#stop);
  }

  #run(): void {
    clearTimeout(this.#timer);
    if (
      this.#isOver ||
      this.#isHalted ||
      this.#under ||
      (this.#looked === this.#version && !this.#isWanted) ||
      this.#accepted === 0
    )
      return;
    const wait = this.#notBefore - Date.now();
    if (wait > 0) this.#timer = window.setTimeout(() => this.#run(), wait);
    else void this.#look();
  }

  /** The short look. */
  async #look(): Promise<void> {
    const own = (this.#under = new AbortController());
    const begun = Date.now();
    this.#looked = this.#version;
    this.#isWanted = false;
    try {
      const found = await work<Look>(this.#asked(false), { signal: own.signal, tell: this.#tell });
      if (!own.signal.aborted) this.#show(found);
    } catch (error) {
      if (own.signal.aborted) this.#looked = -1;
      if (!this.#isOver && !own.signal.aborted) this.#fail(error);
    }
    this.#under = null;
    if (own.signal.aborted || this.#isWanted) this.#notBefore = 0;
    else this.#notBefore = Math.max(this.#notBefore, Date.now() + Math.max(LEAST, TIMES * (Date.now() - begun)));
    if (this.#later === Infinity) this.#later = 0;
    void this.#lookOn();
    this.#rested();
    this.#run();
  }

  /** The long look, of what the short one was of. */
  async #lookOn(): Promise<void> {
    clearTimeout(this.#longTimer);
    const first = this.#first;
    if (
      this.#isOver ||
      this.#isHalted ||
      this.#behind ||
      !first ||
      (this.#thorough === this.#sought() && this.#known === first.version)
    )
      return;
    const wait = this.#later - Date.now();
    if (wait > 0) {
      this.#longTimer = window.setTimeout(() => void this.#lookOn(), wait);
      return;
    }
    const own = (this.#behind = new AbortController());
    const begun = Date.now();
    this.#thorough = this.#sought();
    this.#known = first.version;
    const take = (found: Look): void => {
      this.#rest = Object.fromEntries(
        REST.map((key) => [key, isPending(found[key]) ? (this.#rest[key] ?? found[key]) : found[key]]),
      );
      if (this.#first && !own.signal.aborted) this.#show(this.#first);
    };
    let told = "";
    const tell = (progress: Progress): void => {
      this.#tell(progress);
      // Each step that is told brings along what is known so far: it is drawn once.
      if (!progress.partial || told === progress.words) return;
      told = progress.words;
      take(progress.partial as Look);
    };
    try {
      take(await work<Look>(this.#asked(true), { signal: own.signal, tell }));
      this.#later = Date.now() + Math.max(LEAST, TIMES * (Date.now() - begun));
    } catch (error) {
      this.#thorough = "";
      this.#later = own.signal.aborted ? 0 : Infinity; // what failed waits for the next short look
      if (!this.#isOver && !own.signal.aborted) this.#fail(error);
    }
    this.#behind = null;
    this.#rested();
    if (this.#later < Infinity) void this.#lookOn();
  }

  #asked(more: boolean): Work {
    return { kind: "look", survey: this.#survey, ...this.#wanted, groups: true, more };
  }

  /** What takes long stays as it was at the long look before, until the next one: nothing goes and comes back. */
  #show(found: Look): void {
    this.#first = found;
    if (this.#isOver) return;
    const rest = Object.fromEntries(
      Object.entries(this.#rest).filter(([key]) => !["fit", "windows"].includes(key) || isPending(found[key as "fit"])),
    );
    this.#listener.show({ ...found, ...rest });
  }

  #fail(error: unknown): void {
    // One question that cannot be answered must not stand in the way of all others, nor of the picture.
    if (error instanceof Trouble && BLAMED.has(error.code) && this.#listener.failed(error.message)) return this.again();
    fail(error);
    // Where the server was busy it is asked again by and by.
    if (error instanceof Trouble && (error.code === "busy" || error.code === "429")) {
      this.#looked = -1;
      this.#later = Date.now() + 1000 * Math.max(2, error.retryAfter);
      this.#notBefore = Date.now() + 1000 * Math.max(2, error.retryAfter);
    }
  }
}

function isPending(part: unknown): boolean {
  return typeof part === "object" && part !== null && "is_pending" in part && part.is_pending === true;
}
