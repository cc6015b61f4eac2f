/** Play: the paper's figures alive. A bundled truth is blurred, and methods recover it, at any epsilon and of any number of people. */

import { framed, Picture, type Series } from "../charts/charts.js";
import {
  type Draft,
  latest,
  type MethodShown,
  type Playing,
  type Preview,
  type Progress,
  previewed,
  type Start,
  Trouble,
  work,
} from "../shared/api.js";
import { h, put, s } from "../shared/dom.js";
import { METHODS, type MethodChoice, RAPPOR } from "../shared/methods.js";
import { number, percent } from "../shared/scales.js";
import { fail, onReturn, say, started } from "../shared/shell.js";

/** What the sliders say. */
interface Setting {
  dataset: Start["datasets"][number];
  mechanism: string;
  epsilon: number;
  people: number;
  methods: string[];
  seed: number;
  /** When it was asked for, for those who measure. */
  at: number;
}

const PEOPLE = [100, 1_000_000] as const;
const STEPS = 200;
/** Milliseconds that an answer which nobody waits for any more may still take. */
const GRACE = 2000;
/** Milliseconds that the first picture may take in the server; methods for which that is too little follow by themselves. */
const WITHIN = 40;
const FIRST = ["stacked", "ibu", "mle", "inversion-normalize"];

export function show(main: HTMLElement, _route: string[]): () => void {
  const screen = new Play();
  put(main, screen.element);
  const forget = onReturn(() => screen.begin());
  screen.begin();
  return () => {
    forget();
    screen.end();
  };
}

class Play {
  readonly element: HTMLElement;
  readonly #picture = new Picture();
  readonly #words = h("p", { class: "lead", "aria-live": "polite" });
  readonly #table = h("div", {});
  readonly #dataset: HTMLSelectElement;
  readonly #mechanism = h("select", { id: "play-mechanism", onchange: () => this.#changed() });
  readonly #epsilon = h("input", { type: "range", id: "play-epsilon", min: 0, max: STEPS, step: 1, value: STEPS / 2 });
  readonly #people = h("input", { type: "range", id: "play-people", min: 0, max: STEPS, step: 1, value: 140 });
  readonly #epsilonWords = h("output", { for: "play-epsilon" });
  readonly #peopleWords = h("output", { for: "play-people" });
  readonly #methods = h("fieldset", { class: "methods" });
  readonly #state = h("div", { class: "state" });
  #boxes: HTMLInputElement[] = [];
  #range: Preview["epsilon"] = { value: 0.05, low: 0.001, high: 10, usual: 0.05, per: "", words: "" };
  readonly #result = h("div", {});
  #seed = 1;
  #isOver = false;
  #again = 0;
  /** What is on the screen, each method's last estimate, and those that are of the setting itself. */
  #drawn: Setting | null = null;
  readonly #known = new Map<string, MethodShown>();
  readonly #fresh = new Set<string>();
  readonly #draw: (setting: Setting) => void;
  readonly #follow: (setting: Setting) => void;
  readonly #prepare: (dataset: Setting["dataset"]) => void;

  constructor() {
    const { datasets } = started();
    this.#dataset = h(
      "select",
      { id: "play-dataset", onchange: () => this.begin() },
      ...datasets.map((one, index) => h("option", { value: index }, one.title)),
    );
    this.#draw = latest(
      (setting, signal) => this.#work(setting, signal, WITHIN),
      (found, setting) => this.#begun(found, setting),
      (trouble) => this.#fail(trouble),
      true,
    );
    this.#follow = latest(
      (setting, signal) => this.#work(setting, signal),
      (found, setting) => this.#add(found, setting),
      (trouble) => this.#fail(trouble),
    );
    this.#prepare = latest(
      (dataset) => previewed(draftOf(dataset), null),
      (found) => this.#ready(found),
      (trouble) => this.#fail(trouble),
    );
    for (const slider of [this.#epsilon, this.#people]) slider.addEventListener("input", () => this.#changed());
    const again = h("button", { type: "button", onclick: () => (this.#seed++, this.#changed()) }, "Ask other people");
    const control = (id: string, name: string, input: HTMLElement, words?: HTMLElement): HTMLElement =>
      h("div", {}, h("label", { for: id }, name, words), input);
    this.element = h(
      "div",
      {},
      h(
        "header",
        {},
        h("h1", {}, "Play"),
        h(
          "p",
          { class: "lead" },
          "A truth that is known, blurred, and recovered: move a slider and see which method comes closest.",
        ),
      ),
      h(
        "section",
        { class: "play-controls", "aria-label": "What is played with" },
        control("play-dataset", "Data", this.#dataset),
        control("play-mechanism", "Mechanism", this.#mechanism),
        control("play-epsilon", "Epsilon", this.#epsilon, this.#epsilonWords),
        control("play-people", "People", this.#people, this.#peopleWords),
        h("div", { class: "play-methods" }, this.#methods, again),
      ),
      this.#words,
      this.#result,
      explained(),
      this.#state,
    );
    put(this.#result, this.#picture.element, this.#table);
  }

  end(): void {
    this.#isOver = true;
    clearTimeout(this.#again);
    this.#picture.end();
  }

  /** Learn which mechanisms suit the data, then draw. */
  begin(): void {
    const dataset = this.#chosenDataset();
    if (this.#drawn) this.#fade();
    if (dataset) this.#prepare(dataset);
    else put(this.#words, "This server has no bundled data.");
  }

  /** Of other data or another mechanism nothing is told any more, until the first picture comes. */
  #fade(): void {
    this.#drawn = null; // what still comes of it is shown no more
    this.#result.classList.add("stale");
    put(this.#words, "Asking these people…");
  }

  #chosenDataset(): Setting["dataset"] | undefined {
    return started().datasets[Number(this.#dataset.value)];
  }

  #ready(found: Preview): void {
    if (this.#isOver) return;
    const { mechanism, mechanisms } = found;
    put(
      this.#mechanism,
      ...mechanisms.map((one) =>
        h("option", { value: one.kind, selected: one.kind === mechanism.kind, title: one.remark }, shortName(one.name)),
      ),
    );
    this.#range = found.epsilon;
    this.#epsilon.value = String(Math.round(STEPS * place(found.epsilon.usual, found.epsilon.low, found.epsilon.high)));
    this.#changed();
  }

  /** The methods that know what to do with this mechanism; those that were chosen stay chosen. */
  #offer(mechanism: string): void {
    const known =
      mechanism === "rappor" || mechanism === "unary"
        ? [...METHODS.filter((one) => !one.key.startsWith("inversion")), ...RAPPOR]
        : METHODS;
    const keys = known.map((one) => one.key).join();
    if (this.#boxes.map((box) => box.value).join() === keys) return;
    const before = new Set(this.#boxes.filter((box) => box.checked).map((box) => box.value));
    const isChosen = (one: MethodChoice): boolean =>
      (this.#boxes.length ? before.has(one.key) : FIRST.includes(one.key)) || one.key === "stacked";
    this.#boxes = known.map((one) =>
      h("input", { type: "checkbox", value: one.key, checked: isChosen(one), onchange: () => this.#changed() }),
    );
    put(
      this.#methods,
      h("legend", { class: "unseen" }, "Methods"),
      ...known.map((one, index) =>
        h(
          "label",
          { class: "method", title: one.words },
          this.#boxes[index],
          h("span", { class: `swatch of-${one.colour}` }),
          one.name,
        ),
      ),
    );
  }

  #changed(): void {
    const dataset = this.#chosenDataset();
    if (!dataset) return;
    const { low, high, per } = this.#range;
    const epsilon = rounded(low * (high / low) ** (Number(this.#epsilon.value) / STEPS), 2);
    const people = rounded(PEOPLE[0] * (PEOPLE[1] / PEOPLE[0]) ** (Number(this.#people.value) / STEPS), 2);
    put(this.#epsilonWords, `${number(epsilon)}${per ? ` per ${per}` : ""}`);
    put(this.#peopleWords, people.toLocaleString("en"));
    this.#epsilon.setAttribute("aria-valuetext", this.#epsilonWords.textContent ?? "");
    this.#people.setAttribute("aria-valuetext", `${this.#peopleWords.textContent} people`);
    this.#offer(this.#mechanism.value);
    if (this.#drawn && this.#drawn.mechanism !== this.#mechanism.value) this.#fade();
    this.#draw({
      dataset,
      mechanism: this.#mechanism.value,
      epsilon,
      people,
      methods: this.#boxes.filter((box) => box.checked).map((box) => box.value),
      seed: this.#seed,
      at: performance.now(),
    });
  }

  async #work(setting: Setting, signal: AbortSignal, within?: number): Promise<Playing> {
    const { dataset, at: _at, ...rest } = setting;
    const begun = Date.now();
    const tell = ({ words, partial }: Progress): void => {
      // Only what takes long is told of: a line that flashes with every step of a slider tells nothing.
      if (Date.now() - begun > 600) put(this.#state, h("p", { class: "note" }, `${words || "Under way"}…`));
      if (partial && within === undefined) this.#add(partial as Playing, setting);
    };
    // One that is stopped costs the server a process, which takes longer than most take to end.
    const own = new AbortController();
    signal.addEventListener("abort", () => setTimeout(() => own.abort(), GRACE));
    return work<Playing>(
      { kind: "play", dataset: dataset.name, ...rest, ...(within === undefined ? {} : { within }) },
      { signal: own.signal, tell },
    );
  }

  /** The first picture of a setting: what takes long is of the setting before, faded, until it comes. */
  #begun(found: Playing, setting: Setting): void {
    if (this.#isOver) return;
    if (this.#drawn?.dataset !== setting.dataset) this.#known.clear();
    this.#fresh.clear();
    this.#drawn = setting;
    this.#result.classList.remove("stale");
    this.#add(found, setting);
    performance.measure("play first", { start: setting.at, end: performance.now() });
    if (found.left.length) this.#follow({ ...setting, methods: found.left });
  }

  #add(found: Playing, { at, seed, epsilon, people }: Setting): void {
    const setting = this.#drawn;
    // Of a setting that nobody looks at any more.
    if (
      this.#isOver ||
      !setting ||
      setting.at !== at ||
      setting.seed !== seed ||
      setting.epsilon !== epsilon ||
      setting.people !== people
    )
      return;
    for (const one of found.methods) {
      this.#known.set(one.key, one);
      this.#fresh.add(one.key);
    }
    const isWhole = setting.methods.every((key) => this.#fresh.has(key));
    if (isWhole) {
      put(this.#state);
      performance.measure("play last", { start: at, end: performance.now() });
    }
    this.#show(found, setting);
  }

  #show(found: Playing, { dataset, methods }: Setting): void {
    const shown = methods.map(
      (key): Played => ({ ...(this.#known.get(key) ?? nothing(key)), isOld: !this.#fresh.has(key) }),
    );
    const words = closest(found.made, shown);
    put(this.#words, words);
    const reports: Series[] = found.reports.length
      ? [{ name: "reports", colour: "reports", shares: found.reports, form: "line" }]
      : [];
    const drawn = shown.filter((one) => one.distribution.length === found.values.size);
    this.#picture.show({
      title: dataset.title,
      finding: words,
      isFindingShown: false,
      values: found.values,
      name:
        found.values.unit === "year"
          ? "age"
          : found.values.plane
            ? "cell"
            : (dataset.title.split(",")[0] ?? "value").toLowerCase(),
      series: [
        { name: "truth", colour: "truth", shares: found.truth },
        ...reports,
        ...drawn.map(
          (one): Series => ({
            name: one.name,
            colour: one.colour,
            shares: one.distribution,
            form: "steps",
            isOld: one.isOld,
          }),
        ),
      ],
      level: 2,
      file: `play-${dataset.name}`,
    });
    put(
      this.#table,
      distances(shown, found.truth),
      h(
        "p",
        { class: "note" },
        "Distance from the truth: how far people would have to be moved on average to make the picture true (the earth mover’s distance, EMD).",
      ),
    );
  }

  #fail(trouble: unknown): void {
    if (this.#isOver) return;
    put(this.#state);
    if (trouble instanceof Trouble && trouble.code === "no-answer") {
      put(this.#words, trouble.message);
      return say(trouble.message);
    }
    fail(trouble);
    if (trouble instanceof Trouble && trouble.retryAfter)
      this.#again = window.setTimeout(() => this.#changed(), 1000 * trouble.retryAfter);
  }
}

/** What the short names mean: for those who have no pointer to rest on them, too. */
function explained(): HTMLElement {
  const rows = [...METHODS, ...RAPPOR].map(({ name, words }) => h("div", {}, h("dt", {}, name), h("dd", {}, words)));
  return h(
    "details",
    { class: "explained" },
    h("summary", {}, "What each method does"),
    h("dl", { class: "technical" }, ...rows),
  );
}

/** What a method made of the reports; old where that was of the setting before. */
type Played = MethodShown & { isOld: boolean };

function nothing(key: string): MethodShown {
  const { name, colour } = [...METHODS, ...RAPPOR].find((one) => one.key === key) ?? { name: key, colour: "faint" };
  return { name, colour, distribution: [], emd: null, words: "" };
}

/** Which method comes closest, of those that are known. */
function closest(made: string, shown: Played[]): string {
  const known = shown.filter((one) => one.emd && !one.isOld).sort((a, b) => a.emd!.value - b.emd!.value);
  const waited = shown.filter((one) => one.isOld).map((one) => one.name);
  const best = known[0]
    ? `${made}: ${known[0].name} comes closest${waited.length ? " so far" : ""}, ${distance(known[0].emd!)} from the truth.`
    : `${made}.`;
  return waited.length ? `${best} ${waited.join(" and ")}: at work…` : best;
}

/** How far each method is from the truth, nearest first, with bars: a line each; on a phone the numbers below the name. */
function distances(shown: Played[], truth: number[]): HTMLElement {
  const most = Math.max(...shown.map((one) => one.emd?.value ?? 0), 1e-9);
  const sorted = [...shown].sort((a, b) => (a.emd?.value ?? Infinity) - (b.emd?.value ?? Infinity));
  const head = h(
    "tr",
    {},
    h("th", { class: "words" }, "method"),
    h("th", {}, "distance from the truth"),
    h("th", { class: "words bar-cell" }, h("span", { class: "unseen" }, "as a bar")),
    h("th", {}, "people in the wrong place"),
  );
  return h(
    "div",
    { class: "distances" },
    framed(
      "Distance of each method from the truth",
      head,
      sorted.map((one) => distanceRow(one, truth, most)),
    ),
  );
}

function distanceRow(one: Played, truth: number[], most: number): HTMLElement {
  const length = Math.max(2, (100 * (one.emd?.value ?? 0)) / most);
  const bar = s(
    "svg",
    { class: `far of-${one.colour}`, viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    s("rect", { width: length, height: 10 }),
  );
  const name = h(
    "td",
    { class: "words method-name", title: one.words },
    h("span", { class: `swatch of-${one.colour}` }),
    one.name,
  );
  const row = one.isOld ? "old" : "";
  if (!one.distribution.length)
    return h(
      "tr",
      { class: row },
      name,
      h("td", { class: "words", colspan: 3 }, h("span", { class: "prose" }, one.isOld ? "at work…" : one.words)),
    );
  return h(
    "tr",
    { class: row },
    name,
    h("td", { "data-words": " from the truth" }, one.emd ? distance(one.emd) : "none here"),
    h("td", { class: "words bar-cell" }, one.emd && bar),
    h("td", { "data-words": " misplaced" }, percent(variation(one.distribution, truth))),
  );
}

function distance({ value, unit }: { value: number; unit: string | null }): string {
  const isWord = /^[a-z]{3,}$/.test(unit ?? "");
  return `${number(value)} ${unit ?? ""}${isWord && value !== 1 ? "s" : ""}`.trim();
}

/** Total variation: the share of people that would have to move. */
function variation(one: number[], other: number[]): number {
  return one.reduce((sum, share, index) => sum + Math.abs(share - (other[index] ?? 0)), 0) / 2;
}

function draftOf(dataset: Setting["dataset"]): Draft {
  return {
    survey: { name: "value", title: dataset.title, alphabet: dataset.alphabet },
    epsilon: 0.05,
    people: 10000,
    guess: dataset.name,
  };
}

/** A mechanism's name as a choice: "the truncated geometric mechanism" is "Truncated geometric". */
function shortName(name: string): string {
  const short = name.replace(/^the /, "").replace(/ mechanism$/, "");
  return short.charAt(0).toUpperCase() + short.slice(1);
}

/** Where a number lies between two, by its logarithm. */
function place(value: number, low: number, high: number): number {
  return Math.min(1, Math.max(0, Math.log(value / low) / Math.log(high / low)));
}

function rounded(value: number, digits: number): number {
  return Number(value.toPrecision(digits));
}
