/** What a design ends in: a survey that collects, its file, and the commands and the Python that do the same. */

import { save } from "../charts/exports.js";
import { counted } from "../look/takealong.js";
import { ask, type Draft, type Preview, type SurveySummary, work } from "../shared/api.js";
import { h, put } from "../shared/dom.js";
import { invited } from "../shared/links.js";
import { copyButton, fail, progressBar, restart, say, started } from "../shared/shell.js";
import { limitOf } from "./steps.js";

/** Made-up people who answer at a time, at most. */
const MADE_UP = 10_000;

export class TakeAlong {
  readonly element = h("section", { class: "take-it" });
  readonly #begun = h("div", { class: "begun" });
  readonly #summary = h("p", {});
  readonly #texts = {
    file: h("pre", { tabindex: 0, "aria-label": "Survey file" }),
    commands: h("pre", { tabindex: 0, "aria-label": "Commands" }),
    python: h("pre", { tabindex: 0, "aria-label": "Python" }),
  };
  // One button for good: leaving a field with a press on it must not put another in its place before the press has ended.
  readonly #button = h(
    "button",
    { type: "button", class: "main", onclick: () => void this.#press() },
    "Start collecting",
  );
  readonly #note = h("p", { class: "note", id: "not-yet", role: "status" });
  #preview: Preview | null = null;
  #title = "";
  #isMade = false;
  /** The draft that is shown here, and the one that the form holds. */
  #shown = "";
  #wanted = "";
  /** Why it cannot be started now, in words. */
  #reason = "";
  #trouble = "";
  /** The draft that was to be started when it was not shown yet. */
  #pressed = "";
  #mayWait = false;
  #draft: Draft | null = null;
  readonly #trial = h("div", { class: "trial", role: "group", "aria-label": "Made-up people" });
  #tried = "";
  #isStarting = false;
  #offered = "";

  /** Be told which draft the form holds, and what is wrong or under way; what is shown here may be another one still. */
  weigh(wanted: string, trouble: string, looking: string): void {
    this.#wanted = wanted;
    this.#trouble = trouble;
    // What looks for another epsilon would change what is started: a press does not wait for that.
    this.#mayWait = !trouble && !looking;
    if (!this.#mayWait || wanted !== this.#pressed) this.#pressed = "";
    this.#reason = trouble || (wanted === this.#shown ? looking : "The plan for your last change is not ready yet.");
    if (!this.#isMade) return;
    this.#offer();
    if (this.#pressed && !this.#reason) void this.#press();
  }

  show(preview: Preview, draft: Draft): void {
    this.#preview = preview;
    this.#shown = JSON.stringify(draft);
    this.#draft = draft;
    if (this.#tried !== this.#shown) this.#offerTrial();
    this.#title = draft.survey.title;
    if (!this.#isMade) this.#make();
    const people = draft.people === 1 ? "1 person" : `${draft.people.toLocaleString("en")} people`;
    // A title may hold letters that turn the direction of writing: it turns its own alone.
    put(
      this.#summary,
      "“",
      h("bdi", {}, draft.survey.title || draft.survey.name),
      `”, asked of ${people}, ${timesOf(draft)}. Once it collects, its question, values and blurring stay as they are.`,
    );
    put(this.#texts.file, preview.survey.text);
    put(this.#texts.commands, preview.code.commands);
    put(this.#texts.python, preview.code.python);
  }

  #make(): void {
    this.#isMade = true;
    const fold = (words: string, text: HTMLElement): HTMLElement =>
      h(
        "details",
        {},
        h("summary", {}, words),
        text,
        copyButton(() => text.textContent ?? ""),
      );
    put(
      this.element,
      h("h2", {}, "Start, or take it along"),
      this.#summary,
      this.#begun,
      this.#trial,
      h(
        "div",
        { class: "folds" },
        fold("The survey file", this.#texts.file),
        fold("The same in commands", this.#texts.commands),
        fold("The same in Python", this.#texts.python),
      ),
    );
  }

  #offer(): void {
    this.element.classList.toggle("stale", this.#reason !== "");
    if (this.#reason) this.#button.setAttribute("aria-disabled", "true");
    else this.#button.removeAttribute("aria-disabled");
    if (this.#note.textContent !== this.#reason) put(this.#note, this.#reason);
    const known = this.#reason
      ? undefined
      : started().surveys.find((one) => one.survey === this.#preview?.survey.fingerprint);
    const offered = known ? JSON.stringify([known.survey, known.title, this.#title]) : "start";
    if (offered === this.#offered) return;
    this.#offered = offered;
    if (!known) put(this.#begun, h("p", { class: "beside" }, this.#button, this.#download()), this.#note);
    else if (known.is_simulated || known.title !== this.#title) this.#isTaken(known);
    else this.#collects();
  }

  #download(): HTMLElement {
    return h(
      "button",
      { type: "button", onclick: () => save("survey.toml", this.#preview?.survey.text ?? "", "application/toml") },
      "Download survey.toml",
    );
  }

  /** What a survey is called is no part of its reports: those of two with the same values and noise could not be parted. */
  #isTaken(known: SurveySummary): void {
    const whose = known.is_simulated
      ? ["and made-up people answer it"]
      : ["as “", h("bdi", {}, known.title || known.name), "”"];
    put(
      this.#begun,
      h(
        "p",
        {},
        "This collector has a survey with the same values and the same blurring already, ",
        ...whose,
        ": ",
        h("a", { href: `#/look/${known.survey}` }, "look at it"),
        ". To collect apart from it, change what reports depend on, such as epsilon or the values.",
      ),
      h("p", {}, this.#download()),
    );
  }

  /** A press on the other button, beside epsilon: go to this one, which says what comes of it. */
  start(): void {
    this.element.scrollIntoView({ block: "start" });
    if (!this.#button.isConnected) return this.#begun.querySelector<HTMLElement>("a, button")?.focus();
    this.#button.focus({ preventScroll: true });
    void this.#press();
  }

  /** Start what the form says: now where that is shown, else as soon as it is; where something is wrong, go there. */
  async #press(): Promise<void> {
    const preview = this.#preview;
    if (this.#isStarting) return;
    if (this.#trouble) return document.querySelector<HTMLElement>('.steps [aria-invalid="true"]')?.focus();
    if (!preview || this.#reason) {
      this.#pressed = this.#mayWait ? this.#wanted : "";
      return;
    }
    this.#pressed = "";
    this.#isStarting = true;
    try {
      await ask("/v1/surveys", preview.survey.json);
      await restart();
      this.#offered = "";
      const isFocused = document.activeElement === this.#button;
      this.#offer();
      // The button that was pressed is gone: the address stands in its place.
      if (isFocused) this.#begun.querySelector<HTMLElement>("a")?.focus();
      say("The survey collects.");
    } catch (error) {
      fail(error);
    }
    this.#isStarting = false;
  }

  /** Made-up people answer a survey of their own, marked as such: theirs never stand among the reports of real people. */
  #offerTrial(): void {
    this.#tried = this.#shown;
    const people = Math.min(this.#draft?.people ?? 0, MADE_UP);
    const guess =
      this.#preview?.guesses.find((one) => one.name === this.#draft?.guess)?.title ?? this.#draft?.guess ?? "";
    const button = h("button", { type: "button", onclick: () => void this.#try(people) }, "Try it with made-up people");
    put(
      this.#trial,
      h("p", { class: "beside" }, button),
      h(
        "p",
        { class: "note" },
        `${counted(people, "person")} drawn from “${guess}” answer a survey of their own, marked as simulated. It can be started for real people all the same.`,
      ),
    );
  }

  async #try(people: number): Promise<void> {
    if (this.#reason || !this.#draft) return say(this.#reason);
    const own = new AbortController();
    const bar = progressBar("Made-up people answer", () => own.abort());
    const key = this.#shown;
    put(this.#trial, bar.element);
    let result: (HTMLElement | string)[] = [];
    try {
      const { survey, title, name, accepted, most } = await ask<SurveySummary & { most: number }>("/studio/v1/trials", {
        draft: this.#draft,
      });
      const many = Math.min(people, most);
      // The same values, noise and guess are one survey, whatever it is called: what is added to is said.
      const before =
        accepted > 0
          ? h(
              "p",
              { class: "note" },
              `${counted(accepted, "person")}, made up, had answered this design before, as “`,
              h("bdi", {}, title || name),
              "”: these are added to them.",
            )
          : "";
      await restart();
      const look = h(
        "p",
        { class: "beside" },
        h("a", { class: "button", href: `#/look/${survey}` }, "Look at what they said"),
      );
      put(this.#trial, bar.element, before, look);
      await work({ kind: "simulate", survey, people: many }, { signal: own.signal, tell: bar.tell });
      say(`${counted(many, "person")}, made up, have answered.`);
      result = [h("p", {}, `${counted(many, "person")}, made up, have answered a simulated survey.`), before, look];
    } catch (error) {
      fail(error);
    }
    if (this.#shown === key && result.length > 0) put(this.#trial, ...result);
    else this.#offerTrial();
  }

  /** It collects: the address that people open, and where to look. */
  #collects(): void {
    const fingerprint = this.#preview?.survey.fingerprint ?? "";
    put(
      this.#begun,
      h("p", { class: "lead" }, "This survey collects. People open"),
      invited(fingerprint),
      h(
        "p",
        { class: "beside" },
        h("a", { class: "button main", href: `#/look/${fingerprint}` }, "Look at what comes in"),
        h("a", { class: "button", href: `#/wall/${fingerprint}` }, "Show it to a room"),
        this.#download(),
      ),
    );
  }
}

/** How often each person may answer, in words. */
function timesOf({ survey }: Draft): string {
  const most = limitOf(survey);
  return most === null
    ? "each as often as they like: more reports tell more of a person"
    : most === 1
      ? "once each, so that nobody counts twice and no further report tells more of a person"
      : `each ${most} times at most`;
}
