/** What a draft would be, at a glance and whole: its promise in odds, one report of a true value, and the picture to expect. */

import { framed, Picture, type Series, valueWords } from "../charts/charts.js";
import { placesOf } from "../charts/maps.js";
import { type Draft, type Expectation, type Levels, type Preview, Trouble, type Values } from "../shared/api.js";
import { h, put } from "../shared/dom.js";
import { arrowOf, fromCorner, stepOver } from "../shared/ground.js";
import { fail, say } from "../shared/shell.js";
import type { Desk } from "./design.js";
import { errorWords, sentence } from "./steps.js";

// Pixels that two maps of one report take beside each other.
const TWO_MAPS = 520;

/** The few numbers that a phone shows while the sliders are moved; all of them stand below too. */
export class Glance {
  readonly element = h("p", { class: "glance", "aria-hidden": "true" });
  readonly #promise = h("span", {});
  readonly #error = h("span", {});

  constructor() {
    put(this.element, this.#promise, this.#error);
  }

  show(preview: Preview): void {
    const nearest = preview.odds[0];
    put(
      this.#promise,
      h("strong", {}, sentence(preview.epsilon.words)),
      nearest ? ` · ${oddsWords(nearest.odds)}` : "",
    );
  }

  /** Say nothing of the error until it is known again. */
  forget(): void {
    put(this.#error);
  }

  expect(found: Expectation): void {
    // Of one drawing: to one digit, for the next one is another.
    put(
      this.#error,
      " · ",
      h(
        "strong",
        {},
        `about ${errorWords(Number((found.emd?.value ?? found.total_variation).toPrecision(1)), found.emd?.unit ?? "")}`,
      ),
      " off",
    );
  }
}

export class Promised {
  readonly element = h("section", { class: "promised" });
  readonly #cards = h("dl", { class: "answers" });
  readonly #sentences = h("details", {}, h("summary", {}, "The promise in sentences"));
  #isMade = false;

  show(preview: Preview): void {
    if (!this.#isMade)
      put(
        this.element,
        h("h2", {}, "What is promised"),
        h(
          "p",
          {},
          "Someone who thought two answers equally likely, and then sees one report, can bet on the right one with at most these odds.",
        ),
        this.#cards,
        this.#sentences,
      );
    this.#isMade = true;
    put(
      this.#cards,
      ...preview.odds
        .slice(0, 3)
        .map((one) => h("div", {}, h("dt", {}, ...pairWords(one)), h("dd", {}, oddsWords(one.odds)))),
    );
    const summary = this.#sentences.firstElementChild!;
    put(this.#sentences, summary, h("ul", {}, ...preview.promise.map((words) => h("li", {}, words))));
  }
}

/** Two answers that are told apart, as a question; of places how far they lie apart. */
function pairWords({ from, to, apart }: Preview["odds"][number]): (HTMLElement | string)[] {
  if (apart) return [`Two places about ${apart} apart`];
  return ["Is it ", h("bdi", {}, from), " or ", h("bdi", {}, to), "?"];
}

/** Odds as they are said: "51 to 49", and near the ends with as many digits as it takes not to say "100 to 0". */
export function oddsWords(likelier: number): string {
  const digits = likelier > 99.995 ? 3 : likelier > 99.5 ? 2 : likelier > 98.5 ? 1 : 0;
  return likelier >= 99.9995
    ? "as good as certain"
    : `${likelier.toFixed(digits)} to ${(100 - likelier).toFixed(digits)}`;
}

export class OneReport {
  readonly element: HTMLElement;
  readonly #picture = new Picture();
  readonly #desk: Desk;
  readonly #words = h("p", {});
  readonly #choice = h("div", { class: "truth-choice" });
  readonly #canvas: HTMLElement;
  #shown = "";
  #preview: Preview | null = null;

  constructor(desk: Desk) {
    this.#desk = desk;
    this.element = h(
      "section",
      { class: "one-report" },
      h("h2", {}, "What leaves the phone"),
      this.#words,
      this.#picture.element,
    );
    this.#picture.element.append(this.#choice);
    this.#canvas = this.#picture.element.querySelector<HTMLElement>(".canvas")!;
    this.#canvas.addEventListener("keydown", (event) => this.#move(event));
  }

  show(preview: Preview, draft: Draft): void {
    const { reports, value } = preview;
    const total = reports.drawn.reduce((sum, count) => sum + count, 0) || 1;
    const of = reports.values.kind.includes("bit") ? 1000 : total;
    const isSame = sameValues(preview);
    const series: Series[] = [
      { name: "a thousand draws", colour: "reports", form: "bars", shares: reports.drawn.map((count) => count / of) },
    ];
    if (reports.probabilities.length === reports.values.size)
      series.push({
        name: "probability",
        colour: "reports",
        form: curve(reports.values.size),
        shares: reports.probabilities,
      });
    if (reports.values.size === 0 || reports.drawn.length === 0) series.length = 0;
    put(this.#words, reports.words);
    const { plane } = reports.values;
    this.#picture.show({
      title: "What leaves the phone",
      isTitleShown: false,
      finding: reports.words,
      isFindingShown: false,
      values: reports.values,
      // Two maps beside each other where they have room; of bars and categories one is enough.
      series: plane
        ? series.slice(this.element.clientWidth < TWO_MAPS ? -1 : -2)
        : reports.values.positions
          ? series
          : series.slice(-1),
      name: preview.reports.values.positions ? `reported ${draft.survey.name}` : "report",
      measure: "share of reports",
      mark: isSame ? { index: value.index, words: `true ${draft.survey.name}: ${value.label}` } : null,
      height: plane ? 360 : 230,
      file: `${draft.survey.name}-report`,
      ...(isSame ? { pick: (index: number) => this.#desk.looked(index) } : {}),
    });
    this.#preview = preview;
    if (preview.values.plane) this.#fillPlace(preview, draft, isSame);
    else this.#fillChoice(preview, draft);
  }

  end(): void {
    this.#picture.end();
  }

  /** The true place is pressed in the map, or moved by the arrow keys: up is north. */
  #fillPlace({ values, value }: Preview, draft: Draft, isSame: boolean): void {
    this.#canvas.tabIndex = 0;
    this.#canvas.setAttribute("role", "application");
    this.#canvas.setAttribute(
      "aria-label",
      `The true ${draft.survey.name} on the map: ${placeWords(values, value.index)}. The arrow keys move it.`,
    );
    this.#shown = "";
    const how = isSame ? "Press a cell, or move it with the arrow keys." : "Move it with the arrow keys.";
    put(
      this.#choice,
      h(
        "p",
        { class: "true-place" },
        h("strong", {}, `The true ${draft.survey.name}`),
        " ",
        h("output", { id: "true-place" }, placeWords(values, value.index)),
      ),
      h("p", { class: "note" }, how),
    );
  }

  #move(event: KeyboardEvent): void {
    const plane = this.#preview?.values.plane;
    const step = arrowOf(event.key);
    if (!plane || !step || event.target !== this.#canvas) return;
    event.preventDefault();
    const places = placesOf(this.#preview!.values);
    const indexOf = (row: number, column: number): number | undefined => places.get(row * plane.columns + column);
    // From where it is by now: the preview may be one behind.
    const from = plane.cells[this.#desk.state.value ?? this.#preview!.value.index] ?? plane.cells[0]!;
    const next = stepOver(from, step, (row, column) => indexOf(row, column) !== undefined, plane);
    const found = indexOf(...next);
    if (found === undefined) return;
    this.#desk.looked(found);
    say(placeWords(this.#preview!.values, found));
  }

  /** The true value can be moved in the picture, and here by keyboard: along a line, or from a list. */
  #fillChoice(preview: Preview, draft: Draft): void {
    const { values, value } = preview;
    for (const name of ["tabindex", "role", "aria-label"]) this.#canvas.removeAttribute(name);
    const key = JSON.stringify([values.labels, draft.survey.name]);
    if (key !== this.#shown) {
      this.#shown = key;
      put(
        this.#choice,
        h("label", { for: "true-value" }, `The true ${draft.survey.name}`),
        values.size > 30 || values.positions ? this.#range(values.size) : this.#list(values.labels),
        h("output", { for: "true-value" }),
      );
    }
    const control = this.#choice.querySelector<HTMLInputElement | HTMLSelectElement>("#true-value");
    if (control && document.activeElement !== control) control.value = String(value.index);
    if (control instanceof HTMLInputElement) control.setAttribute("aria-valuetext", value.label);
    const output = this.#choice.querySelector("output");
    if (output) output.textContent = control instanceof HTMLSelectElement ? "" : value.label;
  }

  #range(size: number): HTMLElement {
    const range = h("input", {
      type: "range",
      id: "true-value",
      min: 0,
      max: size - 1,
      step: 1,
      oninput: () => this.#desk.looked(Number(range.value)),
    });
    return range;
  }

  #list(labels: string[]): HTMLElement {
    const list = h(
      "select",
      { id: "true-value", onchange: () => this.#desk.looked(Number(list.value)) },
      ...labels.map((label, index) => h("option", { value: index }, label)),
    );
    return list;
  }
}

/** A place as people say it: degrees, how far from the corner, or a row and a column; never a pair in brackets. */
function placeWords(values: Values, index: number): string {
  const { plane } = values;
  const far = plane && !plane.degrees && fromCorner(plane.cells[index] ?? [0, 0], plane.spacing, values.unit);
  return far
    ? `${far} from the lower left corner`
    : valueWords({ values }, index).replace(/([\d.]+) ([NSEW])\b/g, "$1° $2");
}

/** Few values are steps, between which there is nothing. */
function curve(size: number): "line" | "steps" {
  return size > 30 ? "line" : "steps";
}

/** Whether reports are values, so that the true one can be pointed out among them. */
function sameValues(preview: Preview): boolean {
  return (
    preview.reports.values.size === preview.values.size &&
    preview.reports.values.labels[preview.value.index] === preview.value.label
  );
}

export class Expected {
  readonly element: HTMLElement;
  readonly #picture = new Picture();
  readonly #state = h("p", { role: "status" }, "Simulating a survey.");
  readonly #levels = h("div", { class: "levels groups-numbers" });
  readonly #choose: (epsilon: number) => void;

  constructor(choose: (epsilon: number) => void) {
    this.#choose = choose;
    this.element = h(
      "section",
      { class: "expected" },
      h("h2", {}, "What to expect"),
      this.#state,
      this.#picture.element,
      this.#levels,
    );
    this.#picture.element.hidden = true;
  }

  /** The choices of epsilon in the words of `confide show`; a press on one takes it. */
  #choices({ headings, rows, note }: Levels): HTMLElement[] {
    const head = h("tr", {}, ...headings.map((words) => h("th", { class: "words" }, words)));
    const lines = rows.map(({ epsilon, is_chosen, cells }) => {
      const take = (): void => (epsilon === null ? undefined : this.#choose(epsilon));
      const [name = "", ...others] = cells;
      const button = h("button", { type: "button", class: "quiet", disabled: is_chosen, onclick: take }, name);
      return h(
        "tr",
        {},
        h("td", { class: "words named" }, button),
        ...others.map((words, index) => h("td", { class: "words", "data-name": headings[index + 1] }, words)),
      );
    });
    return [h("h3", {}, "Choosing epsilon"), framed("Choosing epsilon", head, lines), h("p", { class: "note" }, note)];
  }

  wait(): void {
    this.element.classList.add("stale");
  }

  /** Other values: what was expected of the last ones is nothing to go by. */
  forget(): void {
    this.#picture.element.hidden = true;
    put(this.#levels);
    put(this.#state, "Simulating a survey.");
  }

  show(found: Expectation, draft: Draft): void {
    this.element.classList.remove("stale");
    this.#picture.element.hidden = false;
    const series: Series[] = [{ name: "the guessed truth", colour: "truth", shares: found.truth }];
    // On a phone two maps have room beside each other; a third would stand alone.
    const isFew = found.values.plane !== null && this.element.clientWidth < TWO_MAPS;
    if (found.reports.length === found.values.size && !isFew)
      series.push({ name: "reports", colour: "reports", shares: found.reports, form: curve(found.values.size) });
    series.push({ name: "estimate", colour: "stacked", shares: found.estimate });
    put(this.#state, found.words, found.fewest ? ` ${found.fewest}` : "");
    put(this.#levels, ...(found.levels ? this.#choices(found.levels) : []));
    this.#picture.show({
      title: "What to expect",
      isTitleShown: false,
      finding: found.words,
      isFindingShown: false,
      values: found.values,
      series,
      name: draft.survey.name,
      windows: found.windows,
      file: `${draft.survey.name}-expected`,
    });
  }

  fail(error: unknown): void {
    this.element.classList.remove("stale");
    if (error instanceof Trouble && !["gone", "no-token", "bad-token", "busy"].includes(error.code))
      put(this.#state, error.message);
    else fail(error);
  }

  end(): void {
    this.#picture.end();
  }
}
