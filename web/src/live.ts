/** Estimates that follow the reports: one look at a time, not too often, and at once when the person asks for something. */
import { Trouble, work, type Look, type Progress } from "./api.js";
import { fail } from "./shell.js";

/** What a look is for. */
export interface Wanted {
  queries: string[];
  methods: string[];
  band: boolean;
  diagnosis: boolean;
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
/** The same of one whose answers are on the screen already: what is left of it can be made again. */
const SHORT = 500;

/** What a question may bring about; all else is no fault of its. */
const BLAMED = new Set(["queries", "no-answer", "failed", "too-large", "malformed", "ended"]);

export class Live {
  readonly #survey: string;
  readonly #listener: Listener;
  #wanted: Wanted = { queries: [], methods: [], band: false, diagnosis: false };
  #version = -1;
  #accepted = 0;
  #looked = -1;
  #under: AbortController | null = null;
  #notBefore = 0;
  #timer = 0;
  #isHalted = false;
  #isOver = false;
  #isWanted = false;
  /** Whether the look under way has told its answers. */
  #isTold = false;
  /** Whether the survey has groups, once that is known, and what took longer of the look before. */
  #hasGroups: boolean | null = null;
  #rest: Partial<Pick<Look, "groups" | "differences" | "methods" | "diagnosis">> = {};

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
    const under = this.#under;
    if (!under) return this.#run();
    setTimeout(() => {
      if (this.#under === under && this.#isWanted) under.abort();
    }, this.#isTold ? SHORT : GRACE);
  }

  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#under?.abort();
  }

  #run(): void {
    clearTimeout(this.#timer);
    if (this.#isOver || this.#isHalted || this.#under || (this.#looked === this.#version && !this.#isWanted) || this.#accepted === 0) return;
    const wait = this.#notBefore - Date.now();
    if (wait > 0) this.#timer = window.setTimeout(() => this.#run(), wait);
    else void this.#look();
  }

  async #look(): Promise<void> {
    const own = (this.#under = new AbortController());
    const begun = Date.now();
    const version = this.#version;
    this.#looked = version;
    this.#isWanted = this.#isTold = false;
    const stop = (): void => {
      this.#isHalted = true;
      own.abort();
    };
    try {
      await this.#both(own.signal, (progress) => this.#listener.busy(progress, stop));
    } catch (error) {
      if (own.signal.aborted) this.#looked = -1;
      if (!this.#isOver && !own.signal.aborted) this.#fail(error);
    }
    this.#under = null;
    if (this.#isOver) return;
    this.#listener.busy(null, stop);
    if (own.signal.aborted || this.#isWanted) this.#notBefore = 0;
    else this.#notBefore = Math.max(this.#notBefore, Date.now() + Math.max(LEAST, TIMES * (Date.now() - begun)));
    if (this.#isHalted) this.#listener.halted(() => this.again());
    else this.#run();
  }

  /** First what everybody looks at, at once; then groups, methods and the diagnosis, which take several times as long. */
  async #both(signal: AbortSignal, tell: (progress: Progress) => void): Promise<void> {
    const { methods, diagnosis, queries, band } = this.#wanted;
    const asked = { kind: "look", survey: this.#survey, band } as const;
    const show = (found: Look): void => {
      if (!signal.aborted && !this.#isOver) this.#listener.show(found);
    };
    let shown = "";
    const early = (progress: Progress): void => {
      tell(progress);
      // What was told before is drawn once: each step that is told brings it along.
      const known = progress.partial as Look | undefined;
      const sign = known && `${known.fit.is_pending ?? false}`;
      if (known && sign !== shown) show({ ...known, ...this.#rest });
      shown = sign ?? shown;
      this.#isTold ||= known !== undefined;
    };
    const found = await work<Look>({ ...asked, queries, methods: [], groups: false, diagnosis: false }, { signal, tell: early });
    this.#isTold = true;
    show({ ...found, ...this.#rest });
    const isMore = methods.length > 0 || diagnosis || this.#hasGroups !== false;
    if (!isMore || this.#isWanted) return;
    const all = await work<Look>({ ...asked, queries: this.#wanted.queries, methods, groups: true, diagnosis }, { signal, tell });
    this.#hasGroups = all.groups.length > 0;
    this.#rest = { groups: all.groups, differences: all.differences, methods: all.methods, diagnosis: all.diagnosis };
    show(all);
  }

  #fail(error: unknown): void {
    // One question that cannot be answered must not stand in the way of all others, nor of the picture.
    if (error instanceof Trouble && BLAMED.has(error.code) && this.#listener.failed(error.message)) return this.again();
    fail(error);
    // Where the server was busy it is asked again by and by.
    if (error instanceof Trouble && (error.code === "busy" || error.code === "429")) {
      this.#looked = -1;
      this.#notBefore = Date.now() + 1000 * Math.max(2, error.retryAfter);
    }
  }
}
