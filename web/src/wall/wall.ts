/** The wall: a survey for a whole room. Reports fall in, the estimate settles, its band narrows. */
import { Live } from "../look/live.js";
import { ask, type Look, type SurveySummary, work } from "../shared/api.js";
import { h, put } from "../shared/dom.js";
import { addressOf, qrCode } from "../shared/links.js";
import { fail, onReturn, restart, started, titled } from "../shared/shell.js";
import { Scene } from "./scene.js";

const REHEARSALS = [3, 300, 30_000];
/** Values up to which every one gets an interval in the time that a room waits. */
const MOST_BANDED = 200;

export function show(main: HTMLElement, route: string[]): () => void {
  const summary = started().surveys.find((one) => one.survey === route[0]);
  if (!summary) {
    put(main, h("h1", {}, "There is no such survey here"), h("p", {}, h("a", { href: "#/look" }, "All surveys")));
    return () => undefined;
  }
  const wall = new Wall(summary);
  titled(`Wall, ${summary.title}`);
  put(main, wall.element);
  wall.begin();
  return () => wall.end();
}

class Wall {
  readonly element: HTMLElement;
  readonly #summary: SurveySummary;
  readonly #canvas = h("canvas", { role: "img", "aria-label": "Reports and estimate" });
  readonly #scene = new Scene(this.#canvas);
  readonly #count = h("strong", {}, "0");
  readonly #counted = h("span", {}, " people have answered");
  readonly #finding = h("p", { class: "wall-finding", role: "status" });
  readonly #rehearsal = h("div", { class: "beside" });
  readonly #live: Live;
  readonly #forget: () => void;
  #timer = 0;
  #isOver = false;

  constructor(summary: SurveySummary) {
    this.#summary = summary;
    this.#live = new Live(summary.survey, {
      show: (look) => this.#show(look),
      busy: () => undefined,
      failed: () => false,
      halted: () => undefined,
    });
    this.#forget = onReturn(() => this.#live.again());
    const address = addressOf(summary.survey);
    const full = h("button", { type: "button", onclick: () => this.#fill() }, "Full screen");
    this.element = h(
      "section",
      { class: "wall" },
      h(
        "header",
        { class: "wall-head" },
        h(
          "div",
          {},
          h("h1", {}, h("bdi", {}, summary.title)),
          h("p", { class: "wall-count" }, this.#count, this.#counted),
          summary.is_simulated &&
            h("p", { class: "wall-note" }, h("span", { class: "mark warning" }, "simulated people")),
        ),
        h(
          "div",
          { class: "wall-code" },
          qrCode(address),
          h("p", { class: "wall-note" }, address.replace(/^https?:\/\//, "")),
        ),
      ),
      this.#canvas,
      h(
        "footer",
        { class: "wall-foot" },
        h(
          "div",
          {},
          this.#finding,
          h(
            "p",
            { class: "wall-note" },
            h("span", { class: "wall-key reports" }),
            "reports as they came ",
            h("span", { class: "wall-key estimate" }),
            "estimate, with the noise taken out, and its 95% band",
          ),
        ),
        h(
          "div",
          { class: "beside wall-actions" },
          this.#rehearsal,
          full,
          h("a", { class: "button", href: `#/look/${summary.survey}` }, "Back to Look"),
        ),
      ),
    );
    this.#offer();
  }

  begin(): void {
    this.#live.want({ queries: [], methods: [], band: true, diagnosis: false, districts: [] });
    void this.#watch();
  }

  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#forget();
    this.#live.end();
    this.#scene.end();
    if (document.fullscreenElement) void document.exitFullscreen();
  }

  #fill(): void {
    if (document.fullscreenElement) void document.exitFullscreen();
    else void this.element.requestFullscreen().catch(fail);
  }

  async #watch(): Promise<void> {
    try {
      const found = await ask<{ version: number; accepted: number }>(`/studio/v1/watch/${this.#summary.survey}`);
      if (this.#isOver) return;
      put(this.#count, found.accepted.toLocaleString("en"));
      put(this.#counted, found.accepted === 1 ? " person has answered" : " people have answered");
      this.#live.tell(found.version, found.accepted);
    } catch (error) {
      if (!this.#isOver) fail(error);
    }
    if (!this.#isOver) this.#timer = window.setTimeout(() => void this.#watch(), 1000);
  }

  #show(look: Look): void {
    const headline = look.windows.headline || look.headline;
    if (this.#finding.textContent !== headline) put(this.#finding, headline);
    this.#canvas.setAttribute("aria-label", `${look.accepted.toLocaleString("en")} reports. ${headline}`);
    this.#scene.show({
      labels: look.values.labels,
      plane: look.values.plane,
      people: look.accepted,
      reports: look.reports,
      estimate: look.distribution,
      band: look.values.size <= MOST_BANDED ? look.band : null,
    });
  }

  /** Made-up people for a rehearsal: in this survey where it is simulated, else in one like it that says so. */
  #offer(): void {
    if (!started().may_administer) return;
    put(
      this.#rehearsal,
      h("span", { class: "wall-note" }, "Rehearse with "),
      ...REHEARSALS.map((people) =>
        h(
          "button",
          { type: "button", class: "quiet", onclick: () => void this.#rehearse(people) },
          people.toLocaleString("en"),
        ),
      ),
      h("span", { class: "wall-note" }, " made-up people"),
    );
  }

  async #rehearse(people: number): Promise<void> {
    try {
      let { survey } = this.#summary;
      if (!this.#summary.is_simulated) {
        ({ survey } = await ask<SurveySummary>("/studio/v1/trials", { survey }));
        await restart();
      }
      const done = work({ kind: "simulate", survey, people });
      if (survey !== this.#summary.survey) location.hash = `#/wall/${survey}`;
      await done;
    } catch (error) {
      if (!this.#isOver) fail(error);
    }
  }
}
