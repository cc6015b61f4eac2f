/** Other mechanisms at the same promise: how far off each would be. */
import { type Preview, type Rivals, work } from "../shared/api.js";
import { h, put } from "../shared/dom.js";
import { fail, progressBar, say } from "../shared/shell.js";
import type { Desk } from "./design.js";
import { errorWords, sentence } from "./steps.js";

export class Rivalry {
  readonly element = h("section", { class: "rivals", hidden: true });
  readonly #desk: Desk;
  readonly #body = h("div", {});
  #under: AbortController | null = null;
  #key = "";
  #preview: Preview | null = null;
  #offered = 0;

  constructor(desk: Desk) {
    this.#desk = desk;
    put(this.element, h("h2", {}, "Other mechanisms at the same promise"), this.#body);
  }

  /** The draft has changed: what was compared is no longer so. */
  changed(): void {
    if (this.#key === this.#now()) return;
    this.#under?.abort();
    this.#under = null;
    this.#key = "";
  }

  show(preview: Preview): void {
    this.#preview = preview;
    this.element.hidden = preview.mechanisms.length < 2;
    // A button that is there stays: a press on it may be under way.
    if (
      !this.#key &&
      !this.#under &&
      (this.#offered !== preview.mechanisms.length || !this.#body.querySelector(".offer"))
    )
      this.#offer();
  }

  end(): void {
    this.#under?.abort();
  }

  #now(): string {
    const { survey, epsilon, people, guess } = this.#desk.state.draft;
    return JSON.stringify([survey.alphabet, epsilon, people, guess]);
  }

  #offer(): void {
    this.#offered = this.#preview?.mechanisms.length ?? 1;
    put(
      this.#body,
      h("p", { class: "offer" }, "Simulated surveys tell which mechanism of this promise comes closest to the truth."),
      h("button", { type: "button", onclick: () => void this.#run() }, "Compare them"),
    );
  }

  async #run(): Promise<void> {
    const own = (this.#under = new AbortController());
    const bar = progressBar("Simulating surveys", () => own.abort());
    put(this.#body, bar.element);
    try {
      const { rivals } = await work<Rivals>(
        { kind: "rivals", draft: structuredClone(this.#desk.state.draft) },
        { signal: own.signal, tell: bar.tell },
      );
      if (this.#under !== own) return;
      this.#key = this.#now();
      this.#list(rivals);
      say("The mechanisms are compared.");
    } catch (error) {
      if (this.#under !== own) return;
      this.#offer();
      fail(error);
    }
    this.#under = null;
  }

  #list(rivals: Rivals["rivals"]): void {
    const present = this.#preview?.mechanism.kind;
    const sorted = [...rivals].sort((a, b) => (a.expected ?? Infinity) - (b.expected ?? Infinity));
    const rows = sorted.map((one) =>
      h(
        "tr",
        {},
        h("td", { class: "words named" }, sentence(one.name), one.kind === present && h("small", {}, " (chosen)")),
        h(
          "td",
          one.expected === null ? { class: "words" } : {},
          one.expected === null
            ? h("span", { class: "prose note" }, one.trouble)
            : errorWords(one.expected, one.unit, one.margin ?? 0),
        ),
        h(
          "td",
          {},
          one.kind !== present &&
            one.expected !== null &&
            h(
              "button",
              { type: "button", class: "quiet", "aria-label": `Use ${one.name}`, onclick: () => this.#use(one.kind) },
              "Use",
            ),
        ),
      ),
    );
    const head = h(
      "tr",
      {},
      h("th", { class: "words" }, "mechanism"),
      h("th", {}, "expected to be off by"),
      h("th", {}, h("span", { class: "unseen" }, "choose")),
    );
    put(
      this.#body,
      h(
        "div",
        { class: "frame", tabindex: 0, role: "region", "aria-label": "Mechanisms compared" },
        h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows)),
      ),
    );
  }

  #use(kind: string): void {
    this.#desk.state.draft.mechanism = kind;
    this.#desk.refill();
    this.element.querySelector<HTMLElement>("h2")?.scrollIntoView({ block: "nearest" });
  }
}
