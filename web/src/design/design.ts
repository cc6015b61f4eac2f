/** Design: who is asked, how many, how precise; how much each answer is blurred follows, and every change shows at once. */
import {
  type Draft,
  type Expectation,
  latest,
  type Preview,
  type Progress,
  previewed,
  Trouble,
  work,
} from "../shared/api.js";
import { h, put } from "../shared/dom.js";
import { fail, onReturn, titled } from "../shared/shell.js";
import { keep, restored, type State } from "./drafts.js";
import { Expected, Glance, OneReport, Promised } from "./outlooks.js";
import { Steps } from "./steps.js";
import { TakeAlong } from "./taking.js";

// Moving on is cheap for a simulation that has just begun; stopping it would cost the server a process.
const PATIENCE = 1500;
// A slider that still moves needs no simulation.
const PAUSE = 180;

/** What the parts of the screen may do with the draft. */
export interface Desk {
  state: State;
  /** The draft has changed: keep it, and show what follows. */
  changed: () => void;
  /** Another value is looked at. */
  looked: (value: number) => void;
  /** A plan or a field is another: see whether the survey can be started. */
  weigh: () => void;
  /** Another template, another mechanism: fields are to be filled anew. */
  refill: () => void;
  /** Start what is shown, and go where that is said. */
  start: () => void;
}

export function show(main: HTMLElement, _route: string[]): () => void {
  titled("Design");
  const screen = new Screen();
  put(main, ...screen.elements);
  screen.begin();
  const forget = onReturn(() => screen.changed());
  // A page that is left needs no more of what it asked for; one that comes back from the browser's cache does.
  const leave = (): void => screen.stop();
  const come = (event: PageTransitionEvent): void => {
    if (event.persisted) screen.changed();
  };
  addEventListener("pagehide", leave);
  addEventListener("pageshow", come);
  return () => {
    removeEventListener("pagehide", leave);
    removeEventListener("pageshow", come);
    forget();
    screen.end();
  };
}

class Screen implements Desk {
  state = restored();
  readonly elements: HTMLElement[];
  readonly #wrong = h("div", { class: "callout", role: "status", hidden: true });
  readonly #steps = new Steps(this);
  readonly #glance = new Glance();
  readonly #promised = new Promised();
  readonly #report = new OneReport(this);
  readonly #expected = new Expected((epsilon) => this.#steps.choose(epsilon));
  readonly #along = new TakeAlong();
  readonly #ended = new AbortController();
  #timer = 0;
  /** The draft that the server refused, and what it said. */
  #refused: { key: string; words: string } | null = null;
  #preview: Preview | null = null;
  #drawn: Draft | null = null;
  #windows = 0;

  constructor() {
    const outlook = h(
      "div",
      { class: "outlook" },
      this.#wrong,
      this.#promised.element,
      this.#report.element,
      this.#expected.element,
    );
    this.elements = [
      h(
        "header",
        {},
        h("h1", {}, "Design a survey"),
        h(
          "p",
          { class: "lead" },
          "Say who you are asking, how many, and how precise you need to be. We work out how much privacy everyone can have.",
        ),
      ),
      this.#glance.element,
      h("div", { class: "desk" }, this.#steps.element, outlook),
      this.#along.element,
    ];
  }

  begin(): void {
    // Fields that are wrong change nothing in the draft; behind their own listeners these know.
    for (const kind of ["input", "change"]) this.#steps.element.addEventListener(kind, () => this.weigh());
    this.#steps.fill();
    this.changed();
  }

  /** Stop what takes long. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#steps.end();
  }

  end(): void {
    this.#ended.abort();
    this.stop();
    this.#report.end();
    this.#expected.end();
  }

  changed(): void {
    keep(this.state);
    this.#ask({ draft: structuredClone(this.state.draft), value: this.state.value, at: performance.now() });
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.#expect(structuredClone(this.state.draft)), PAUSE);
    this.#steps.plan();
    this.weigh();
  }

  looked(value: number): void {
    if (value === this.state.value) return;
    this.state.value = value;
    keep(this.state);
    this.#ask({ draft: structuredClone(this.state.draft), value, at: performance.now() });
  }

  refill(): void {
    this.#glance.forget();
    this.#expected.forget();
    this.#steps.fill();
    this.changed();
  }

  start(): void {
    this.#along.start();
  }

  /** Tell what is wrong, in the fields or by the server, and whether what is shown can be started. */
  weigh(): void {
    if (this.#ended.signal.aborted) return;
    const key = JSON.stringify(this.state.draft);
    const refused = this.#refused?.key === key ? this.#refused.words : "";
    const wrong = [...this.#steps.troubles, refused].filter(Boolean);
    const warnings = this.#preview?.warnings ?? [];
    this.#wrong.hidden = wrong.length + warnings.length === 0;
    put(
      this.#wrong,
      ...(wrong.length > 0
        ? [h("h2", {}, "This draft is no survey yet"), ...wrong.map((words) => h("p", {}, words))]
        : warnings.map((words) => h("p", {}, words))),
    );
    this.#along.weigh(
      key,
      wrong.length > 0 ? "This draft is no survey yet: mend what is wrong first." : "",
      this.#steps.isLooking ? "It can be started once the plan is done, or stopped." : "",
    );
  }

  readonly #ask = latest(
    (input: { draft: Draft; value: number | null; at: number }) => previewed(input.draft, input.value),
    (preview, input) => this.#showPreview(preview, input.draft, input.at),
    (error) => this.#wrongDraft(error),
    true,
  );

  readonly #expect = latest(
    (draft: Draft, signal) =>
      work<Expectation>(
        { kind: "expect", draft, seed: 0 },
        { signal: patient(signal, this.#ended.signal), tell: (progress) => this.#early(progress, draft, signal) },
      ),
    (found) => {
      if (this.#ended.signal.aborted) return;
      this.#expected.show(found, this.state.draft);
      this.#glance.expect(found);
    },
    (error) => this.#expected.fail(error),
  );

  /** The picture comes before its windows, which take seconds on a map, and these before the levels of privacy. */
  #early({ partial }: Progress, draft: Draft, signal: AbortSignal): void {
    if (signal.aborted || this.#ended.signal.aborted) return;
    const found = partial as Expectation | undefined;
    if (!found) return this.#drawn === draft ? undefined : this.#expected.wait();
    if (this.#drawn === draft && this.#windows === found.windows.length) return;
    this.#drawn = draft;
    this.#windows = found.windows.length;
    this.#expected.show(found, draft);
  }

  #showPreview(preview: Preview, draft: Draft, at: number): void {
    if (this.#ended.signal.aborted) return;
    this.#preview = preview;
    this.#glance.show(preview);
    this.#promised.show(preview);
    this.#report.show(preview, draft);
    this.#steps.show(preview, draft);
    this.#along.show(preview, draft);
    this.weigh();
    // What a slider waits for, from its movement to what it shows: tests and the benchmark read it.
    performance.measure("slider", { start: at, end: performance.now() });
  }

  /** A draft that the server refuses is told beside it; what was shown stays until it is mended. */
  #wrongDraft(error: unknown): void {
    if (this.#ended.signal.aborted) return;
    if (!(error instanceof Trouble) || ["gone", "no-token", "bad-token", "busy"].includes(error.code))
      return fail(error);
    this.#refused = { key: JSON.stringify(this.state.draft), words: error.message };
    this.weigh();
  }
}

/** A signal that lets what has just begun come to its end, unless the screen is left. */
function patient(signal: AbortSignal, ended: AbortSignal): AbortSignal {
  const own = new AbortController();
  const begun = performance.now();
  signal.addEventListener("abort", () =>
    setTimeout(() => own.abort(), Math.max(0, PATIENCE - (performance.now() - begun))),
  );
  ended.addEventListener("abort", () => own.abort());
  return own.signal;
}
