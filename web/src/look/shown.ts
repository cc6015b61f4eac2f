/** One survey on the screen: verdict first, answers and picture, questions, then what a specialist asks for. */

import { type Brushed, framed, Picture, type Series, type Spec } from "../charts/charts.js";
import { boxWords, circleOf, questionOf } from "../charts/questions.js";
import type { Answer, Look, Progress, SurveySummary } from "../shared/api.js";
import { h, put } from "../shared/dom.js";
import { METHODS } from "../shared/methods.js";
import { progressBar, say, started } from "../shared/shell.js";
import { dropPlace } from "./districts.js";
import type { Listener, Wanted } from "./live.js";
import { Along, counted, invitation, marksOf, whole } from "./takealong.js";

const MOST_GROUPS = 12;
/** What a look takes at a time (src/confide/studio/asking.py). */
const MOST_QUESTIONS = 20;
const LONGEST_QUESTION = 1000;
/** Milliseconds after which what is brushed rests. */
const REST = 300;

export class Shown implements Listener {
  readonly element: HTMLElement;
  /** Called with what the person asks for. */
  wanted: (wanted: Wanted, isNow?: boolean) => void = () => undefined;
  readonly #summary: SurveySummary;
  readonly #asked: Wanted = { queries: [], methods: [], band: false, diagnosis: false, districts: [] };
  #look: Look | null = null;
  /** Whether the finding was read out: once, when all of it is known. */
  #isSaid = false;
  /** The question that the brush stands for: one card, whatever is brushed. */
  #brush: string | null = null;
  #resting = 0;
  /** Questions that were answered: the others may be to blame where a look fails. */
  readonly #known = new Set<string>();
  #groupPictures: Picture[] = [];
  #bar: ReturnType<typeof progressBar> | null = null;

  readonly #marks = h("p", { class: "marks" });
  readonly #count = h("dd", { class: "live-count" }, "…");
  readonly #counted = h("dt", {}, "reports");
  readonly #refused = h("dd", {}, "…");
  /** What is under way: in the head until there is something to look at, then below the picture, where nothing moves. */
  readonly #state = h("div", { class: "state" });
  readonly #stateBelow = h("div", { class: "state-place" });
  readonly #badge = h("p", { class: "verdict-place" });
  readonly #verdict = h("div", { class: "verdict-place" });
  readonly #evidence = h("ul", {});
  readonly #answers = h("dl", { class: "answers" });
  readonly #picture = new Picture();
  readonly #field = h("input", {
    id: "question",
    type: "text",
    autocomplete: "off",
    spellcheck: "false",
    autocapitalize: "off",
    "aria-describedby": "question-trouble question-help",
  });
  readonly #trouble = h("p", { class: "trouble", id: "question-trouble", role: "alert" });
  readonly #help = h("p", { class: "note", id: "question-help" });
  readonly #drop = dropPlace(
    () => this.#look?.values ?? null,
    (districts) => {
      this.#asked.districts = districts ?? [];
      this.wanted({ ...this.#asked });
    },
  );
  readonly #questions = h("dl", { class: "answers questions", "aria-live": "polite" });
  readonly #groups = h("section", { class: "groups-place", hidden: true });
  readonly #methodPicture = new Picture();
  readonly #methodWords = h("ul", { class: "method-words" });
  readonly #diagnosis = h("div", {});
  readonly #promise = h("ul", {});
  readonly #details = h("dl", { class: "technical" });
  readonly #found = h("div", { class: "found", hidden: true });
  readonly #empty = h("section", { class: "empty", hidden: true });
  readonly #invited = h("section", {});
  readonly #along: Along;

  constructor(summary: SurveySummary) {
    this.#summary = summary;
    this.#along = new Along(summary, this.#picture);
    const title = h(
      "header",
      { class: "look-head" },
      h("div", { class: "look-title" }, h("h1", {}, summary.title), this.#marks),
      h(
        "div",
        { class: "look-state" },
        h(
          "dl",
          { class: "facts" },
          h("div", {}, this.#counted, this.#count),
          h("div", {}, h("dt", {}, "refused"), this.#refused),
        ),
        this.#badge,
      ),
      this.#state,
    );
    const evidence = h("details", { class: "evidence" }, h("summary", {}, "The statistics behind it"), this.#evidence);
    put(
      this.#found,
      this.#verdict,
      this.#answers,
      this.#picture.element,
      h("div", { class: "behind" }, this.#stateBelow, evidence),
      this.#questionForm(),
      this.#groups,
      this.#folded(),
    );
    put(
      this.#empty,
      h("h2", {}, "No report has come yet"),
      h("p", {}, "Open this address on a phone, or send it to those who are asked:"),
      invitation(summary, true),
    );
    this.element = h("div", { class: "look" }, title, this.#empty, this.#found, this.#below());
    put(this.#marks, ...marksOf(summary));
  }

  /** The numbers that are watched, each second. */
  count({ accepted, rejected, is_closed }: { accepted: number; rejected: number; is_closed: boolean }): void {
    const words = whole(accepted);
    if (this.#count.textContent !== words) put(this.#count, words);
    put(this.#counted, accepted === 1 ? "report" : "reports");
    put(this.#refused, whole(rejected));
    put(this.#marks, ...marksOf({ ...this.#summary, is_closed }));
    this.#empty.toggleAttribute("hidden", accepted > 0);
    this.#along.closed(is_closed);
    // Whoever opened it now would be refused, and made-up people too.
    for (const one of [this.#invited, this.#empty])
      one.toggleAttribute("hidden", one.hasAttribute("hidden") || is_closed);
  }

  busy(progress: Progress | null, stop: () => void): void {
    if (!progress) {
      this.#bar = null;
      put(
        this.#state,
        h(
          "p",
          { class: "note" },
          this.#look ? `Of ${counted(this.#look.accepted, "report")}; updates as more come in.` : "",
        ),
      );
      return;
    }
    if (!this.#bar) put(this.#state, (this.#bar = progressBar("Estimating", stop)).element);
    this.#bar.tell(progress);
  }

  halted(goOn: () => void): void {
    put(
      this.#state,
      h(
        "div",
        { class: "progress" },
        h("span", {}, "Stopped. What is below stays as it was."),
        h("button", { type: "button", class: "quiet", onclick: goOn }, "Go on"),
      ),
    );
  }

  failed(message: string): boolean {
    const blamed = this.#asked.queries.filter((one) => !this.#known.has(one));
    if (!blamed.length) return false;
    this.#refuse(message, blamed);
    return true;
  }

  end(): void {
    clearTimeout(this.#resting);
    for (const one of [this.#picture, this.#methodPicture, ...this.#groupPictures]) one.end();
  }

  show(found: Look): void {
    const look = (this.#look = this.#sound(found));
    this.#found.removeAttribute("hidden");
    if (this.#state.parentElement !== this.#stateBelow) put(this.#stateBelow, this.#state);
    const { fit } = look;
    const kind = fit.is_good === false ? "differs" : fit.is_good === null ? "compared" : "";
    put(this.#badge, h("span", { class: `verdict ${kind}` }, fit.headline || "Goodness of fit: being tested…"));
    put(
      this.#verdict,
      ...fit.cautions.map(({ heading, words }) =>
        h("div", { class: "callout" }, h("h2", {}, heading), h("p", {}, words)),
      ),
    );
    put(this.#evidence, ...[look.fit.words, look.windows.words].filter(Boolean).map((words) => h("li", {}, words)));
    put(this.#answers, ...look.statistics.map((one) => answerCard(one)));
    this.#picture.show(this.#spec(look));
    put(this.#help, exampleOf(look));
    this.#drop.toggleAttribute("hidden", !look.values.plane?.degrees);
    this.#showQuestions(look);
    this.#showGroups(look);
    this.#showMethods(look);
    put(
      this.#diagnosis,
      ...(look.diagnosis
        ? [h("ul", { class: "diagnosis" }, ...look.diagnosis.map((words) => h("li", {}, words)))]
        : [h("p", { class: "note" }, "Is being made…")]),
    );
    put(this.#promise, ...look.promise.map((words) => h("li", {}, words)));
    put(this.#details, ...look.details.map(({ name, words }) => h("div", {}, h("dt", {}, name), h("dd", {}, words))));
    this.#along.show(look, this.#spec(look));
    if (!this.#isSaid && !isPending(look)) say(`${fit.headline} ${look.windows.headline || look.headline}`);
    this.#isSaid ||= !isPending(look);
  }

  #spec(look: Look): Spec {
    const estimate: Series = { name: "estimate", colour: "stacked", shares: look.distribution, band: look.band };
    return {
      title: this.#titled("What the reports show"),
      finding: `${look.windows.headline || look.headline} ${look.windows.words}`.trim(),
      values: look.values,
      name: look.survey.name,
      // A map stands beside that of the reports; over a line they would lie on each other.
      series: [
        ...(look.values.plane && look.reports
          ? [{ name: "reports as they came", colour: "reports", shares: look.reports } as Series]
          : []),
        estimate,
        ...(look.districts.length ? [shaded(look)] : []),
      ],
      // One window alone holds everybody, which nobody has to be told. Districts of one's own take the place of ours.
      windows: look.districts.length ? look.districts : look.windows.windows.length > 1 ? look.windows.windows : [],
      areNamed: look.districts.length > 0,
      level: 2,
      file: fileName(look.survey.title),
      ...(look.values.kind === "attributes" ? {} : { brush: (range: Brushed | null) => this.#brushed(range) }),
    };
  }

  /** Simulated people are named in every picture, so that none is taken for real when it is taken along. */
  #titled(words: string): string {
    return this.#summary.is_simulated ? `${words} (simulated people)` : words;
  }

  // Questions: typed, or brushed in the picture.

  #questionForm(): HTMLElement {
    const form = h(
      "form",
      { class: "question", autocomplete: "off" },
      h("label", { for: "question" }, "Ask how many"),
      h("div", { class: "beside" }, this.#field, h("button", { class: "main", type: "submit" }, "Ask")),
      this.#trouble,
      this.#help,
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#ask(this.#field.value.trim());
    });
    this.#field.addEventListener("input", () => put(this.#trouble));
    return h("section", { class: "ask" }, form, this.#drop, this.#questions);
  }

  #ask(question: string): void {
    put(this.#trouble);
    if (!question) return put(this.#trouble, "Type a question first, or drag over the picture.");
    if (question.length > LONGEST_QUESTION)
      return put(
        this.#trouble,
        `A question has at most ${whole(LONGEST_QUESTION)} characters; this one has ${whole(question.length)}.`,
      );
    if (question === this.#brush) this.#brush = null; // asked for by name, it stays when something else is brushed
    this.#add(question);
  }

  /** Ask this besides the others; `instead` goes for it. */
  #add(question: string, instead: string | null = null): void {
    const left = this.#asked.queries.filter((one) => one !== instead || one === question);
    if (!left.includes(question)) left.push(question);
    if (left.length > MOST_QUESTIONS)
      return put(
        this.#trouble,
        `${MOST_QUESTIONS} questions at a time are the most. Forget one with its ×, then ask again.`,
      );
    this.#asked.queries = left;
    this.wanted({ ...this.#asked });
  }

  /** What is brushed is asked when it rests: a key that is pressed twenty times asks one question. */
  #brushed(range: Brushed | null): void {
    const look = this.#look;
    clearTimeout(this.#resting);
    if (!range || !look) return;
    const question = questionOf(look.values, look.survey.name, range.indices);
    if (question === null) return put(this.#trouble, "This choice cannot be written as a question.");
    put(this.#trouble);
    this.#field.value = question;
    if (question.length > LONGEST_QUESTION)
      return put(this.#trouble, "This choice is too long for a question. Choose fewer.");
    this.#resting = window.setTimeout(() => {
      const isOwn = question === this.#brush || !this.#asked.queries.includes(question);
      this.#add(question, this.#brush);
      if (this.#asked.queries.includes(question)) this.#brush = isOwn ? question : null;
    }, REST);
  }

  /** Say what was wrong with questions, and ask them no more. */
  #refuse(message: string, questions: string[]): void {
    put(this.#trouble, message);
    this.#asked.queries = this.#asked.queries.filter((one) => !questions.includes(one));
    this.wanted({ ...this.#asked }, false);
  }

  /** The look without questions that were refused: they are said below the field, and taken along nowhere. */
  #sound(look: Look): Look {
    const failed = look.queries.filter((one) => one.error);
    for (const one of look.queries) if (!one.error) this.#known.add(one.query);
    const wrong = failed.map((one) => one.query).filter((one) => this.#asked.queries.includes(one));
    if (wrong.length) this.#refuse(failed[0]?.error ?? "", wrong);
    return failed.length ? { ...look, queries: look.queries.filter((one) => !one.error) } : look;
  }

  #showQuestions(look: Look): void {
    const forget = (query: string): void => {
      this.#asked.queries = this.#asked.queries.filter((one) => one !== query);
      if (query === this.#brush) this.#brush = null;
      this.#picture.clear();
      this.#showQuestions(look);
      this.wanted({ ...this.#asked });
    };
    const cards = look.queries.filter((one) => this.#asked.queries.includes(one.query)).reverse();
    put(
      this.#questions,
      ...cards.map((one) =>
        answerCard(one, { forget: () => forget(one.query), meant: boxWords(look.values, one.query) }),
      ),
    );
  }

  // Groups, side by side.

  #showGroups(look: Look): void {
    this.#groups.toggleAttribute("hidden", look.groups.length === 0);
    if (!look.groups.length) return;
    const columns = [
      ...new Set(look.groups.flatMap((one) => [...one.statistics, ...one.queries].map(({ query }) => query))),
    ];
    const head = h(
      "tr",
      {},
      ...["group", "people", ...columns].map((words, index) => h("th", { class: index ? "" : "words" }, words)),
    );
    const rows = look.groups.map((one) => {
      const found = new Map([...one.statistics, ...one.queries].map((answer) => [answer.query, answer]));
      return h(
        "tr",
        {},
        h("td", { class: "words named" }, one.name),
        h("td", { "data-name": "people" }, whole(one.people)),
        ...columns.map((query) => h("td", { "data-name": query }, answerWords(found.get(query)))),
      );
    });
    const few = look.groups.slice(0, MOST_GROUPS);
    while (this.#groupPictures.length < few.length) this.#groupPictures.push(new Picture());
    const panels = h("div", { class: "panels" }, ...few.map((_one, index) => this.#groupPictures[index]!.element));
    put(
      this.#groups,
      h("h2", {}, "Groups, side by side"),
      h("ul", {}, ...look.differences.map((words) => h("li", {}, words))),
      h("div", { class: "groups-numbers" }, framed("Groups in numbers", head, rows)),
      panels,
    );
    few.forEach((one, index) =>
      this.#groupPictures[index]!.show({
        title: this.#titled(one.name),
        finding: `${counted(one.people, "person")}${one.statistics[0] ? `, ${one.statistics[0].query} ${answerWords(one.statistics[0])}` : ""}.`,
        values: look.values,
        name: look.survey.name,
        series: [
          { name: "all", colour: "faint", shares: look.distribution, form: "line" },
          { name: one.name, colour: "stacked", shares: one.distribution },
        ],
        height: 220,
        file: fileName(`${look.survey.title} ${one.name}`),
      }),
    );
  }

  // What is folded away: made when it is opened.

  #folded(): HTMLElement {
    const methods = h(
      "details",
      {},
      h("summary", {}, h("h2", {}, "Methods, side by side")),
      this.#methodChoices(),
      this.#methodPicture.element,
      this.#methodWords,
    );
    methods.addEventListener("toggle", () => {
      this.#asked.methods = methods.open ? this.#chosen() : [];
      if (methods.open) this.wanted({ ...this.#asked });
    });
    const diagnosis = h("details", {}, h("summary", {}, h("h2", {}, "Diagnosis")), this.#diagnosis);
    diagnosis.addEventListener("toggle", () => {
      this.#asked.diagnosis = diagnosis.open;
      if (diagnosis.open && !this.#look?.diagnosis) this.wanted({ ...this.#asked });
    });
    const band = h("input", { type: "checkbox", id: "band" });
    band.addEventListener("change", () => {
      this.#asked.band = band.checked;
      this.wanted({ ...this.#asked });
    });
    return h(
      "section",
      { class: "folded" },
      methods,
      diagnosis,
      h("details", {}, h("summary", {}, h("h2", {}, "What was promised")), this.#promise),
      h(
        "details",
        {},
        h("summary", {}, h("h2", {}, "Technical details")),
        h("p", {}, band, h("label", { for: "band" }, "An interval for every value, in the picture")),
        this.#details,
      ),
    );
  }

  readonly #boxes = METHODS.map((one) =>
    h("input", {
      type: "checkbox",
      value: one.key,
      checked: one.key === "stacked" || one.key === "ibu" || one.key === "inversion-normalize",
    }),
  );

  #chosen(): string[] {
    return this.#boxes.filter((box) => box.checked).map((box) => box.value);
  }

  #methodChoices(): HTMLElement {
    const labels = METHODS.map((one, index) =>
      h(
        "label",
        { class: "method", title: one.words },
        this.#boxes[index],
        h("span", { class: `swatch of-${one.colour}` }),
        one.name,
      ),
    );
    const choices = h("fieldset", { class: "methods" }, h("legend", { class: "unseen" }, "Methods"), ...labels);
    choices.addEventListener("change", () => {
      this.#asked.methods = this.#chosen();
      this.wanted({ ...this.#asked });
    });
    return choices;
  }

  #showMethods(look: Look): void {
    const drawn = look.methods.filter((one) => one.distribution.length > 0);
    this.#methodPicture.element.toggleAttribute("hidden", !drawn.length);
    if (drawn.length) {
      const reports: Series[] = look.reports
        ? [{ name: "reports", colour: "reports", shares: look.reports, form: "line" }]
        : [];
      this.#methodPicture.show({
        title: this.#titled("The same reports by several methods"),
        finding: "Where methods agree, the answer does not depend on the method.",
        values: look.values,
        name: look.survey.name,
        series: [
          ...reports,
          ...drawn.map(
            (one): Series => ({ name: one.name, colour: one.colour, shares: one.distribution, form: "steps" }),
          ),
        ],
        file: fileName(`${look.survey.title} methods`),
      });
    }
    put(this.#methodWords, ...look.methods.map((one) => h("li", {}, h("strong", {}, `${one.name}: `), one.words)));
  }

  #below(): HTMLElement {
    const mayAsk = started().may_administer;
    put(this.#invited, h("h3", {}, "Invite"), invitation(this.#summary, mayAsk));
    return h(
      "section",
      { class: "below" },
      h("h2", {}, "This survey"),
      this.#along.element,
      this.#invited,
      mayAsk && this.#along.closing,
    );
  }
}

/** What may be asked of these values, in the words of the grammar. */
function exampleOf({ values, survey: { name } }: Look): string {
  if (values.kind === "attributes") return "As text, by the names of the attributes.";
  const { size, plane } = values;
  const upper = Math.floor(size * 0.65);
  const inside = plane ? [0, Math.min(size - 1, plane.columns + 1)] : [upper];
  const tried = values.positions
    ? [Array.from({ length: size - upper }, (_none, index) => upper + index)]
    : [inside, ...values.labels.map((_label, index) => [index])];
  const example =
    circleOf(values) ?? tried.map((indices) => questionOf(values, name, indices)).find((one) => one !== null);
  const picture = `${values.positions || plane ? "drag over" : "press rows of"} the picture`;
  return example ? `As text, such as ${example}; or ${picture}.` : `These values are asked for by hand: ${picture}.`;
}

/** The people of each district, spread over its cells: shaded as a whole, for nobody knows where in it they are. */
function shaded({ distribution, districts }: Look): Series {
  const shares = distribution.map(() => 0);
  for (const { indices, estimate } of districts)
    for (const index of indices) shares[index] = Math.max(0, estimate) / indices.length;
  return { name: "by district", colour: "stacked", shares };
}

function isPending({ fit, windows }: Look): boolean {
  return Boolean(fit.is_pending || windows.is_pending);
}

export function fileName(title: string): string {
  return (
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]+/gu, "-")
      .replace(/^-+|-+$/g, "")
      .slice(0, 60) || "survey"
  );
}

/** An answer in a line: "37 (33 to 41, 95% confidence)". */
function answerWords(one: Answer | undefined): string {
  return one ? `${one.now} (${one.ends})` : "";
}

/** An answer in large letters, its interval below; `forget` puts a button beside it. */
function answerCard(one: Answer, { forget, meant = "" }: { forget?: () => void; meant?: string } = {}): HTMLElement {
  const name = meant ? h("span", { class: "meant" }, meant, h("code", {}, one.query)) : one.title;
  return h(
    "div",
    {},
    h(
      "dt",
      {},
      name,
      forget &&
        h(
          "button",
          { type: "button", class: "quiet forget", "aria-label": `Forget ${one.query}`, onclick: forget },
          "×",
        ),
    ),
    h("dd", {}, one.now),
    h("dd", { class: "ends" }, one.ends),
  );
}
