/** What can be taken along from a survey: files, pictures, commands; how to take part in it, and its end. */

import type { Picture, Spec } from "../charts/charts.js";
import { csvOf, pngOf, save } from "../charts/exports.js";
import { ask, type Look, reach, type SurveySummary, work } from "../shared/api.js";
import { h, put } from "../shared/dom.js";
import { invited } from "../shared/links.js";
import { copyButton, fail, progressBar, say, started } from "../shared/shell.js";

export function whole(number: number): string {
  return number.toLocaleString("en");
}

export function counted(number: number, noun: "report" | "person"): string {
  return `${whole(number)} ${number === 1 ? noun : noun === "person" ? "people" : `${noun}s`}`;
}

/** What must be known of a survey wherever it is named. */
export function marksOf({ is_simulated, is_closed }: { is_simulated: boolean; is_closed: boolean }): HTMLElement[] {
  return [
    ...(is_simulated ? [h("span", { class: "mark warning" }, "simulated people")] : []),
    ...(is_closed ? [h("span", { class: "mark" }, "closed")] : []),
  ];
}

/** The address to take part at, and for simulated surveys a button that lets made-up people answer. */
export function invitation(summary: SurveySummary, mayAsk: boolean): HTMLElement {
  return h(
    "div",
    { class: "invitation" },
    invited(summary.survey),
    h("p", { class: "beside" }, h("a", { class: "button", href: `#/wall/${summary.survey}` }, "Show it to a room")),
    summary.is_simulated && mayAsk && made(summary),
  );
}

const MADE_UP = [100, 1000, 10000];

function made(summary: SurveySummary): HTMLElement {
  const place = h("div", { class: "made-up" });
  const idle = (): void =>
    put(
      place,
      h(
        "p",
        { class: "beside" },
        "Let made-up people answer: ",
        ...MADE_UP.map((people) =>
          h("button", { type: "button", class: "quiet", onclick: () => void run(people) }, whole(people)),
        ),
      ),
    );
  const run = async (people: number): Promise<void> => {
    const own = new AbortController();
    const bar = progressBar("Made-up people answer", () => own.abort());
    put(place, bar.element);
    try {
      await work({ kind: "simulate", survey: summary.survey, people }, { signal: own.signal, tell: bar.tell });
      say(`${whole(people)} made-up people have answered.`);
    } catch (error) {
      fail(error);
    }
    idle();
  };
  idle();
  return place;
}

/** The Python that gives the same numbers as a notebook. */
function notebookOf(title: string, python: string): string {
  const lines = (text: string): string[] => text.split(/(?<=\n)/);
  const cells = [
    {
      cell_type: "markdown",
      id: "title",
      metadata: {},
      source: [`# ${title}\n`, "\n", "Counts: `counts.parquet`, from the studio."],
    },
    // One cell: a survey's text has blank lines of its own.
    {
      cell_type: "code",
      id: "estimate",
      metadata: {},
      execution_count: null,
      outputs: [],
      source: lines(python.trim()),
    },
  ];
  const kernelspec = { display_name: "Python 3", language: "python", name: "python3" };
  return JSON.stringify({ cells, metadata: { kernelspec }, nbformat: 4, nbformat_minor: 5 }, null, 1);
}

export class Along {
  readonly element: HTMLElement;
  /** Closes the survey, after asking. */
  readonly closing = h("section", { class: "closing" });
  readonly #summary: SurveySummary;
  readonly #picture: Picture;
  readonly #said = h("p", { class: "note", role: "status" });
  readonly #commands = h("pre", { tabindex: 0 });
  readonly #python = h("pre", { tabindex: 0 });
  #look: Look | null = null;
  #spec: Spec | null = null;
  #isClosed: boolean | null = null;

  constructor(summary: SurveySummary, picture: Picture) {
    this.#summary = summary;
    this.#picture = picture;
    this.element = h(
      "section",
      { class: "along", hidden: true },
      h("h3", {}, "Take along"),
      h("div", { class: "take-along" }, ...this.#buttons()),
      this.#said,
      h(
        "details",
        {},
        h("summary", {}, "The same in commands"),
        this.#commands,
        copyButton(() => this.#commands.textContent ?? ""),
      ),
      h(
        "details",
        {},
        h("summary", {}, "The same in Python"),
        this.#python,
        copyButton(() => this.#python.textContent ?? ""),
        h(
          "button",
          {
            type: "button",
            class: "quiet",
            onclick: () => save("estimate.py", this.#python.textContent ?? "", "text/x-python"),
          },
          "Save estimate.py",
        ),
      ),
    );
  }

  show(look: Look, spec: Spec): void {
    this.element.removeAttribute("hidden");
    this.#look = look;
    this.#spec = spec;
    put(this.#commands, look.code.commands);
    put(this.#python, look.code.python);
  }

  closed(isClosed: boolean): void {
    if (isClosed === this.#isClosed) return;
    this.#isClosed = isClosed;
    if (isClosed)
      put(
        this.closing,
        h("h3", {}, "Close"),
        h("p", { class: "note" }, "This survey is closed: it takes no more reports."),
      );
    else
      put(
        this.closing,
        h("h3", {}, "Close"),
        h("p", { class: "note" }, "Once it is closed it takes no more reports; that cannot be undone."),
        h("button", { type: "button", class: "final", onclick: () => this.#confirm() }, "Close this survey…"),
      );
  }

  #buttons(): HTMLElement[] {
    const name = (): string => this.#spec?.file ?? "survey";
    const { survey } = this.#summary;
    const made: [string, () => void | Promise<void>][] = [
      ["CSV", () => this.#spec && save(`${name()}.csv`, csvOf(this.#spec), "text/csv")],
      ["JSON", () => save(`${name()}.json`, JSON.stringify(this.#look, null, 1), "application/json")],
      ["PNG", async () => save(`${name()}.png`, await pngOf(this.#picture.svg()), "image/png")],
      ["SVG", () => save(`${name()}.svg`, this.#picture.svg(), "image/svg+xml")],
      [
        "Page",
        () =>
          this.#fetched(
            `/v1/surveys/${survey}/page`,
            `${name()}.html`,
            "Making the page: a few seconds, and on a map up to some minutes.",
          ),
      ],
      [
        "Slides",
        () =>
          this.#fetched(
            `/v1/surveys/${survey}/page`,
            `${name()}-slides.html`,
            "Making the slides: print the file, one section a slide.",
            (page) => page.replace("<body>", '<body class="slides">'),
          ),
      ],
      [
        "Evidence",
        () =>
          this.#fetched(
            `/studio/v1/evidence/${survey}`,
            `${name()}-evidence.html`,
            "Auditing the promise and testing the reports: a few seconds.",
          ),
      ],
      [
        "Notebook",
        () =>
          this.#look &&
          save(`${name()}.ipynb`, notebookOf(this.#summary.title, this.#look.code.python), "application/x-ipynb+json"),
      ],
      ["Counts", () => this.#fetched(`/studio/v1/counts/${survey}`, "counts.parquet", "Fetching the counts.")],
      ["Survey", () => this.#fetched(`/v1/surveys/${survey}`, "survey.json", "Fetching the survey.")],
    ].map(([label, task]) => [label as string, task as () => void | Promise<void>]);
    return made.map(([label, task]) =>
      h("button", { type: "button", onclick: () => void Promise.resolve(task()).catch(fail) }, label),
    );
  }

  async #fetched(path: string, file: string, words: string, change?: (text: string) => string): Promise<void> {
    put(this.#said, words);
    try {
      const answer = await reach(path);
      save(file, change ? change(await answer.text()) : await answer.blob(), change ? "text/html" : "");
      put(this.#said, `${file} is in your downloads.`);
    } catch (error) {
      put(this.#said);
      throw error;
    }
  }

  /** Asks before it closes a survey: that cannot be undone. */
  #confirm(): void {
    const back = (): void => {
      this.#isClosed = null;
      this.closed(false);
      this.closing.querySelector("button")?.focus();
    };
    const close = async (): Promise<void> => {
      try {
        await ask(`/v1/surveys/${this.#summary.survey}/close`, {});
        const known = started().surveys.find((one) => one.survey === this.#summary.survey);
        if (known) known.is_closed = true;
        this.closed(true);
        say("The survey is closed.");
      } catch (error) {
        fail(error);
      }
    };
    const no = h("button", { type: "button", onclick: back }, "Keep it open");
    put(
      this.closing,
      h(
        "div",
        { class: "callout", role: "alertdialog", "aria-label": "Close this survey?" },
        h(
          "p",
          {},
          "Closing is for good: reports that come later are refused, those that wait on phones too. What was counted stays.",
        ),
        h(
          "p",
          { class: "beside" },
          h("button", { type: "button", class: "main", onclick: () => void close() }, "Close it for good"),
          no,
        ),
      ),
    );
    no.focus();
  }
}
