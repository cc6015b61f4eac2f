/** The three steps of a design: who is asked, how many, how precise. Epsilon follows, or is chosen. */
import { type AlphabetTable, type Draft, type Planned, type Preview, type Progress, work } from "../shared/api.js";
import { h, put } from "../shared/dom.js";
import { number, percent } from "../shared/scales.js";
import { progressBar, say, started } from "../shared/shell.js";
import { choices, field, mark, type Slider, slider } from "./controls.js";
import type { Desk } from "./design.js";
import { epsilonOf, fresh, keep, keyFor, keyOf, nameFor, planOf, queryOf, type Solved } from "./drafts.js";
import { dropping } from "./dropping.js";
import { spanOf, unitOf, valueFields } from "./values.js";

// A plan is a minute's work at worst: it begins when nothing has moved for this long.
const PAUSE = 700;
const LOOKED_FOR = {
  epsilon: "Looking for the epsilon that suffices",
  people: "Looking for how many people suffice",
  error: "Looking how precise that is",
};
/** The template that a file's values are nearest to. */
const TEMPLATES: Record<string, string> = { bins: "ranges", categories: "categories", places: "homes" };
const SHAPES = new Set(["peaked", "two humps", "falling", "spiky", "rough", "uniform"]);

export class Steps {
  readonly element = h("form", { class: "steps", onsubmit: (event) => event.preventDefault() });
  readonly #desk: Desk;
  readonly #follows = h("div", { class: "follows" });
  // One button for good, outside of what is shown anew: a press on it may be under way.
  readonly #start = h(
    "p",
    { class: "start" },
    h("button", { type: "button", class: "main", onclick: () => this.#desk.start() }, "Start this survey"),
  );
  // Made once: what it says of a file stays while the fields are filled anew.
  readonly #drop = dropping((draft) => this.#adopt(draft));
  readonly #guess = h("select", { onchange: () => this.#set({ guess: this.#guess.value }) });
  readonly #mechanism = h("select", { onchange: () => this.#setMechanism(this.#mechanism.value) });
  /** Which mechanism is the best at this promise, and why. */
  readonly #why = h("p", { class: "note" });
  #people: Slider | null = null;
  #epsilon: Slider | null = null;
  #preview: Preview | null = null;
  /** The draft that the preview is of: a newer one is on its way to the server and back. */
  #previewed: Draft | null = null;
  #planning: { stop: AbortController; solve: Solved; key: string } | null = null;
  #query: HTMLInputElement | null = null;
  #name: HTMLInputElement | null = null;
  #timer = 0;
  /** Whether epsilon will be looked for, once nothing moves. */
  #waits = false;
  /** What was planned, or stopped, or failed: not begun again by itself. */
  #done = "";

  constructor(desk: Desk) {
    this.#desk = desk;
  }

  /** Fill all fields from the draft. */
  fill(): void {
    const { state } = this.#desk;
    this.#people = slider({
      id: "people",
      label: "People who answer",
      low: 100,
      high: 10_000_000,
      value: state.draft.people,
      isLog: true,
      isWhole: true,
      change: (people) => this.#set({ people }),
    });
    this.#epsilon = slider({
      id: "epsilon",
      label: "Epsilon",
      low: 0.01,
      high: 10,
      value: state.draft.epsilon,
      isLog: true,
      change: (epsilon) => this.#set({ epsilon }),
    });
    put(this.element, this.#who(), h("section", {}, h("h2", {}, "2. How many"), this.#people.element), this.#how());
    this.#showFollows();
  }

  /** Show what a preview says: where epsilon lies, which mechanisms and guesses there are. */
  show(preview: Preview, of: Draft): void {
    this.#preview = preview;
    this.#previewed = of;
    const { draft } = this.#desk.state;
    const { low, high, per } = preview.epsilon;
    this.#epsilon?.limit(Math.min(low, draft.epsilon), Math.max(high, draft.epsilon), per ? `per ${per}` : "");
    this.#epsilon?.set(draft.epsilon);
    this.#people?.set(draft.people);
    options(
      this.#guess,
      preview.guesses.map((one) => [one.name, one.title]),
      draft.guess,
    );
    options(
      this.#mechanism,
      [
        ["", "The one that suits these values best"],
        ...preview.mechanisms.map((one): [string, string] => [
          one.kind,
          one.kind === preview.winner ? `${sentence(one.name)} (the best at this promise)` : sentence(one.name),
        ]),
      ],
      draft.mechanism ?? "",
    );
    put(this.#why, preview.why);
    this.#showFollows();
  }

  /** Let epsilon follow from the target, once nothing moves any more. */
  plan(): void {
    const { state } = this.#desk;
    const key = keyOf(state);
    this.#unwait();
    // What is looked for is of another draft: its answer would be taken for this one's. People follow from epsilon too.
    if (this.#planning && this.#planning.key !== keyFor(state, this.#planning.solve)) this.#planning.stop.abort();
    // Whoever comes back to where a template began finds its epsilon again, not that of what was tried meanwhile.
    if (!state.isOwn && key === state.fresh && state.draft.epsilon !== epsilonOf(state))
      return this.#set({ epsilon: epsilonOf(state) });
    if (state.isOwn || key === this.#done || key === state.planned?.key) return this.#showFollows();
    this.#planning?.stop.abort();
    this.#showFollows();
    const solve = key === state.fresh ? "error" : "epsilon";
    this.#waits = solve === "epsilon";
    this.#timer = window.setTimeout(() => void this.#run(solve), PAUSE);
  }

  /** What is wrong in the fields, in words. */
  get troubles(): string[] {
    return [...this.element.querySelectorAll('[aria-invalid="true"]')]
      .filter((one) => !one.closest("[hidden]"))
      .map(
        (one) =>
          document.getElementById(one.getAttribute("aria-describedby")?.split(" ").at(-1) ?? "")?.textContent ??
          "A field is not filled in.",
      );
  }

  /** Whether the draft is about to change by itself: epsilon or the people are being looked for. */
  get isLooking(): boolean {
    return this.#waits || (this.#planning !== null && this.#planning.solve !== "error");
  }

  #unwait(): void {
    clearTimeout(this.#timer);
    this.#waits = false;
  }

  /** Stop planning: the screen or the page is left. */
  end(): void {
    this.#unwait();
    this.#planning?.stop.abort();
    this.#planning = null;
  }

  #set(change: Partial<Desk["state"]["draft"]>): void {
    Object.assign(this.#desk.state.draft, change);
    this.#desk.changed();
  }

  /** Take one of the choices of epsilon: it is the person's own from now on. */
  choose(epsilon: number): void {
    const { state } = this.#desk;
    state.isOwn = true;
    this.element.querySelector<HTMLDetailsElement>("details.own")!.open = true;
    this.#planning?.stop.abort();
    this.#set({ epsilon });
  }

  #setMechanism(kind: string): void {
    const { draft } = this.#desk.state;
    if (kind) draft.mechanism = kind;
    else delete draft.mechanism;
    this.#desk.changed();
  }

  // Who is asked.

  #who(): HTMLElement {
    const { state } = this.#desk;
    const templates = started().templates;
    const words = templates.find((one) => one.name === state.template)?.words ?? "";
    const title = h("textarea", { rows: 2, value: state.draft.survey.title, oninput: () => this.#setTitle(title) });
    return h(
      "section",
      {},
      h("h2", {}, "1. Who is asked"),
      this.#drop,
      choices(
        "template",
        "Kind of question",
        templates.map((one) => ({ value: one.name, words: sentence(one.name) })),
        state.template,
        (name) => this.#choose(name),
      ),
      h("p", { class: "note" }, `${words}.`),
      field("title", "The question, as people read it", title),
      valueFields(state.draft.survey.alphabet, (table) => this.#setValues(table)),
      this.#more(),
    );
  }

  #choose(template: string): void {
    const { state } = this.#desk;
    const left = { ...state.left, [state.template]: { draft: state.draft, target: state.target } };
    this.#desk.state = fresh(template, left);
    this.#desk.refill();
    // The fields were made anew: the one that was chosen keeps the focus.
    this.element.querySelector<HTMLElement>('input[name="template"]:checked')?.focus();
  }

  /** Take the draft that is proposed for a file: its epsilon and its name are the person's own. */
  #adopt(draft: Draft): void {
    const { state } = this.#desk;
    const left = { ...state.left, [state.template]: { draft: state.draft, target: state.target } };
    const { alphabet, name } = draft.survey;
    const now = fresh(TEMPLATES[alphabet.kind] ?? "scale", left);
    const target = { ...now.target, query: queryOf(name, alphabet) };
    this.#desk.state = { ...now, draft, target, isOwn: true, isNamed: true, fresh: "" };
    this.#desk.refill();
  }

  #setTitle(control: HTMLTextAreaElement): void {
    const title = control.value.replace(/\s+/g, " ").trim();
    mark(control, title ? "" : "A question is needed: what people read before they answer.");
    const { state } = this.#desk;
    const { survey } = state.draft;
    if (!title) return;
    this.#renew(() => Object.assign(survey, { name: nameFor(state, title), title }));
    if (this.#name) this.#name.value = survey.name;
  }

  #setName(control: HTMLInputElement): void {
    const name = control.value.trim();
    mark(control, name ? "" : "A word is needed, such as age.");
    if (!name) return;
    this.#desk.state.isNamed = true;
    this.#renew(() => (this.#desk.state.draft.survey.name = name));
  }

  /** Change what the question that matters speaks of, and let it speak of that: `age >= 64` would be asked of no age. */
  #renew(change: () => void): void {
    const { draft, target } = this.#desk.state;
    const before = { name: draft.survey.name, query: queryOf(draft.survey.name, draft.survey.alphabet) };
    change();
    const { name, alphabet } = draft.survey;
    if (target.query === before.query) target.query = queryOf(name, alphabet);
    else if (name !== before.name && /^\w+$/.test(before.name))
      target.query = target.query.replace(new RegExp(`\\b${before.name}\\b(?=([^']*'[^']*')*[^']*$)`, "g"), name);
    if (this.#query) this.#query.value = target.query;
    this.#desk.changed();
  }

  /** Other values: a bundled truth may not be one of theirs, and the value looked at may be gone. */
  #setValues(table: AlphabetTable): void {
    const { state } = this.#desk;
    state.value = null;
    if (!SHAPES.has(state.draft.guess)) state.draft.guess = "peaked";
    this.#renew(() => (state.draft.survey.alphabet = table));
  }

  #more(): HTMLElement {
    const { survey } = this.#desk.state.draft;
    const name = (this.#name = h("input", {
      type: "text",
      value: survey.name,
      autocomplete: "off",
      spellcheck: "false",
      size: 12,
      onchange: () => this.#setName(name),
    }));
    const groups = h("textarea", {
      rows: 2,
      spellcheck: "false",
      value: Object.entries(survey.groups ?? {})
        .map(([key, values]) => `${key}: ${values.join(", ")}`)
        .join("\n"),
      onchange: () => this.#setGroups(groups),
    });
    const language = h(
      "select",
      { onchange: () => this.#setWord("language", language.value === "en" ? "" : language.value) },
      ...started().languages.map((code) =>
        h(
          "option",
          { value: code, lang: code, selected: code === (survey.language ?? "en") },
          sentence(new Intl.DisplayNames(code, { type: "language" }).of(code) ?? code),
        ),
      ),
    );
    const results = h("select", { onchange: () => this.#setWord("results", results.value) });
    for (const [value, words] of [
      ["", "Only who asks"],
      ["public", "Whoever takes part"],
    ] as const)
      results.append(h("option", { value, selected: value === (survey.results ?? "") }, words));
    const reports = h("input", {
      type: "text",
      inputmode: "numeric",
      size: 6,
      value: String(limitOf(survey) ?? ""),
      onchange: () => this.#setLimit(reports),
    });
    return h(
      "details",
      {},
      h("summary", {}, "More about it"),
      field(
        "name",
        "What one answer is called",
        name,
        "A word such as age. Phones show “Your age” above the answers, and queries use it: age >= 65.",
      ),
      field(
        "groups",
        "Groups to compare, one a line",
        groups,
        "Such as region: north, south. Each report says its group, not blurred.",
      ),
      field("language", "What the page to take part speaks", language, "Question and answers stay as you write them."),
      field(
        "results",
        "Who may see the result",
        results,
        "It is part of the survey: people are told before they answer.",
      ),
      field(
        "reports",
        "Reports of one person at most",
        reports,
        "One, because each further report tells more of a person, and who answers twice counts twice. Phones hold to it. Empty: no limit.",
      ),
    );
  }

  #setGroups(control: HTMLTextAreaElement): void {
    const lines = control.value.split("\n").filter((line) => line.trim());
    const parts = lines.map((line) => /^([^:]+):(.+)$/.exec(line));
    const groups = Object.fromEntries(
      parts.map((found) => [
        found?.[1]?.trim() ?? "",
        (found?.[2] ?? "")
          .split(",")
          .map((one) => one.trim())
          .filter(Boolean),
      ]),
    );
    const wrong = lines.find(
      (_line, index) => !parts[index]?.[1]?.trim() || groups[parts[index][1].trim()]!.length < 2,
    );
    mark(
      control,
      wrong === undefined
        ? ""
        : `“${wrong.trim()}” is no group yet: a name, a colon and at least two values, such as region: north, south.`,
    );
    if (wrong !== undefined) return;
    const { survey } = this.#desk.state.draft;
    if (lines.length > 0) survey.groups = groups;
    else delete survey.groups;
    this.#desk.changed();
  }

  /** A text of the survey; left out where it is empty. */
  #setWord(key: "language" | "results", word: string): void {
    const { survey } = this.#desk.state.draft;
    if (word) survey[key] = word;
    else delete survey[key];
    this.#desk.changed();
  }

  #setLimit(control: HTMLInputElement): void {
    const { survey } = this.#desk.state.draft;
    const text = control.value.trim();
    const reports = Number(text);
    const isGood = !text || (Number.isInteger(reports) && reports > 0);
    mark(control, isGood ? "" : "A whole number above 0, or nothing.");
    if (!isGood) return;
    survey.limits = text ? { reports } : {};
    this.#desk.changed();
  }

  // How precise.

  #how(): HTMLElement {
    const { state } = this.#desk;
    const { target, draft } = state;
    const span = spanOf(draft.survey.alphabet) ?? 1;
    const unit = unitOf(draft.survey.alphabet);
    const isShare = spanOf(draft.survey.alphabet) === null;
    const retarget = (change: Partial<typeof target>): void => {
      Object.assign(target, change);
      this.#desk.changed();
    };
    const error = slider({
      id: "target-emd",
      label: isShare ? "Shares may be off, all together, by" : "It may be off by",
      low: isShare ? 0.1 : span / 1000,
      high: isShare ? 30 : span / 4,
      value: isShare ? target.emd * 100 : target.emd,
      isLog: true,
      unit: isShare ? "%" : plural(unit),
      change: (emd) => retarget({ emd: isShare ? emd / 100 : emd }),
    });
    const query = (this.#query = h("input", {
      type: "text",
      value: target.query,
      spellcheck: "false",
      autocomplete: "off",
      onchange: () => retarget({ query: query.value.trim() }),
    }));
    const width = slider({
      id: "target-width",
      label: "Its share, give or take",
      low: 0.1,
      high: 30,
      value: target.width * 100,
      isLog: true,
      unit: "%",
      change: (value) => retarget({ width: value / 100 }),
    });
    const whole = h(
      "div",
      { hidden: target.by !== "emd" },
      error.element,
      !isShare &&
        h(
          "p",
          { class: "note" },
          `How far, on average, people would have to be moved to get from the estimate to the truth.`,
        ),
    );
    const asked = h(
      "div",
      { hidden: target.by !== "width" },
      field("query", "The question that matters", query),
      width.element,
    );
    const by = choices(
      "by",
      "What must be right",
      [
        { value: "emd", words: "The whole picture" },
        { value: "width", words: "One share" },
      ],
      target.by,
      (value) => {
        whole.hidden = value !== "emd";
        asked.hidden = value === "emd";
        retarget({ by: value === "emd" ? "emd" : "width" });
      },
    );
    return h(
      "section",
      {},
      h("h2", {}, "3. How precise"),
      by,
      whole,
      asked,
      field("guess", "The truth may look like", this.#guess),
      this.#follows,
      this.#start,
      this.#own(),
    );
  }

  #own(): HTMLElement {
    const { state } = this.#desk;
    const fold = h(
      "details",
      {
        class: "own",
        open: state.isOwn,
        ontoggle: () => {
          if (fold.open === state.isOwn) return;
          state.isOwn = fold.open;
          if (!fold.open) for (const one of fold.querySelectorAll<HTMLElement>("[aria-invalid]")) mark(one);
          this.#planning?.stop.abort();
          keep(state);
          this.#showFollows();
          this.plan();
          this.#desk.weigh();
        },
      },
      h("summary", {}, "Choose epsilon yourself"),
      this.#epsilon!.element,
      h("p", { class: "note" }, "Smaller means more privacy, and needs more people."),
      field("mechanism", "Mechanism", this.#mechanism),
      this.#why,
      h("button", { type: "button", onclick: () => void this.#run("people") }, "How many people does the target take?"),
    );
    return fold;
  }

  /** What follows: epsilon and the mechanism, or how far the plan is. */
  #showFollows(trouble = ""): void {
    if (this.#planning) return;
    const { state } = this.#desk;
    const preview = this.#preview;
    if (!preview) return put(this.#follows);
    const isPlanned = state.planned?.key === keyOf(state) && !state.isOwn;
    // An epsilon and what is expected of it come together, or not at all.
    const planned = isPlanned && this.#previewed?.epsilon === state.draft.epsilon ? state.planned!.planned : null;
    put(
      this.#follows,
      h("p", { class: "note" }, state.isOwn ? "You chose" : planned ? "From this follows" : "For now"),
      h(
        "p",
        { class: "epsilon" },
        h("strong", {}, sentence(preview.epsilon.words)),
        h("span", {}, sentence(preview.mechanism.name)),
      ),
      planned &&
        (planned.is_reached
          ? h(
              "p",
              {},
              `Expected to be off by ${errorWords(planned.expected.value, planned.expected.unit)}, on average of ${planned.repeats} made-up surveys.`,
            )
          : h("p", { class: "trouble" }, planned.words)),
      planned &&
        h(
          "details",
          { class: "bare" },
          h("summary", {}, "What this rests on"),
          h("ul", {}, ...[planned.words, ...planned.remarks].map((words) => h("li", {}, words))),
        ),
      trouble && h("p", { class: "trouble", role: "alert" }, trouble),
      !state.isOwn &&
        !isPlanned &&
        this.#done === keyOf(state) &&
        h("button", { type: "button", onclick: () => void this.#run("epsilon") }, "Find epsilon"),
    );
  }

  async #run(solve: Solved): Promise<void> {
    const { state } = this.#desk;
    this.#planning?.stop.abort();
    this.#waits = false;
    const own = new AbortController();
    this.#planning = { stop: own, solve, key: keyFor(state, solve) };
    const isOwn = (): boolean => this.#planning?.stop === own;
    const key = keyOf(state);
    this.#done = key;
    this.#desk.weigh();
    const bar = progressBar(LOOKED_FOR[solve], () => own.abort());
    const first = h("div", { class: "first", role: "status" });
    put(this.#follows, first, bar.element);
    const tell = (progress: Progress): void => {
      bar.tell(progress);
      if (progress.partial && !first.hasChildNodes())
        this.#showFirst(first, progress.partial as Planned, solve, () => {
          own.abort();
          this.#take(progress.partial as Planned, key, solve);
          this.#showFollows();
        });
    };
    let trouble = "";
    try {
      const planned = await work<Planned>(planOf(state, solve), { signal: own.signal, tell });
      // What ended just as something else was wanted is of the draft before.
      if (!isOwn() || own.signal.aborted) throw new DOMException("stopped", "AbortError");
      this.#take(planned, key, solve);
    } catch (error) {
      if (!isOwn()) return;
      const isStopped = error instanceof DOMException && error.name === "AbortError";
      if (!isStopped) trouble = error instanceof Error ? error.message : String(error);
    }
    this.#planning = null;
    this.#showFollows(trouble);
    this.#desk.weigh();
  }

  /** A first answer, of few made-up surveys, while the search goes on; it may be enough. */
  #showFirst(place: HTMLElement, { terms, people }: Planned, solve: Solved, use: () => void): void {
    const words = solve === "people" ? `${number(people, 2)} people` : `epsilon ${terms.replace(/^epsilon /, "")}`;
    put(
      place,
      h("p", {}, "First answer: about ", h("strong", {}, words), "; looking closer…"),
      h("button", { type: "button", class: "quiet", onclick: use }, "Take it as it is"),
    );
  }

  #take(planned: Planned, key: string, solve: Solved): void {
    const { state } = this.#desk;
    this.#planning = null;
    if (solve === "people") {
      state.draft.people = planned.people;
      state.planned = null;
      this.#done = keyOf(state);
    } else {
      if (planned.epsilon !== null && solve === "epsilon") state.draft.epsilon = Number(planned.epsilon.toPrecision(3));
      state.planned = { key, planned };
    }
    say(planned.words);
    if (solve === "error")
      keep(state); // the draft is as it was
    else this.#desk.changed();
  }
}

/** How many reports one person may make: one where the draft says nothing, as the server reads it; none for no limit. */
export function limitOf({ limits }: Draft["survey"]): number | null {
  const stated = (limits ?? { reports: 1 })["reports"];
  return typeof stated === "number" ? stated : null;
}

/** Words that begin as a sentence does. */
export function sentence(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function plural(unit: string): string {
  return !unit || /^(km|m)$/.test(unit) || unit.endsWith("s") ? unit : `${unit}s`;
}

/** An error as it is said: "0.5 years", "0.5 ± 0.1 years", "101 m", "2.0%". */
export function errorWords(value: number, unit: string, margin = 0): string {
  const isShort = unit === "km" && value < 0.995;
  const show = (size: number): string =>
    unit ? number(isShort ? Number((1000 * size).toPrecision(3)) : size, 2) : percent(size);
  return [show(value), margin > 0 && `± ${show(margin)}`, isShort ? "m" : plural(unit)].filter(Boolean).join(" ");
}

/** Fill a list, unless it holds the same already: one that is open would close. */
function options(list: HTMLSelectElement, entries: [string, string][], chosen: string): void {
  const same =
    list.options.length === entries.length &&
    entries.every(
      ([value, words], index) => list.options[index]!.value === value && list.options[index]!.text === words,
    );
  if (!same) put(list, ...entries.map(([value, words]) => h("option", { value }, words)));
  list.value = chosen;
}
