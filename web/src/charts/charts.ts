/**
 * Pictures of shares over values: over a line, of categories, on a plane. The values say which.
 *
 * A `Picture` is a figure that stays: `show` draws what it is given into it, in the width that there is, and again when
 * that changes. Colours are classes (`of-stacked`), so that light and dark need no drawing; nothing sets a style.
 */
import type { Values, Window } from "../shared/api.js";
import { h, put, s } from "../shared/dom.js";
import { percent } from "../shared/scales.js";
import { drawCategories } from "./bars.js";
import { csvOf, pngOf, save, svgOf } from "./exports.js";
import { drawLine } from "./lines.js";
import { drawPlane } from "./maps.js";

/** Names of colours, as in design.css. */
const COLOURS = new Set([
  "truth",
  "reports",
  "stacked",
  "ibu",
  "held-out",
  "mle",
  "normalized",
  "projected",
  "smooth",
  "faint",
]);

/** Shares of every value, and how they are drawn over a line: the truth is a grey area, estimates are steps. */
export interface Series {
  name: string;
  /** "truth", "reports", "stacked", "ibu", ...: as in design.css; any other is grey. */
  colour: string;
  shares: number[];
  form?: "area" | "bars" | "steps" | "line";
  band?: { low: number[]; high: number[] } | null;
  /** Of what was asked before: what is asked now is still at work. */
  isOld?: boolean;
}

/** Positions that were brushed, in the order of the values. */
export interface Brushed {
  indices: number[];
  /** As a person says it: "20 to 39". */
  words: string;
}

export interface Spec {
  title: string;
  /** What the picture shows, in a sentence: for those who do not see it, and above it for those who do. */
  finding: string;
  values: Values;
  series: Series[];
  /** What a value is called: "age". */
  name?: string;
  /** What the heights are: "share of people" if left out. */
  measure?: string;
  windows?: Window[];
  /** Whether windows have names that a map should say. */
  areNamed?: boolean;
  /** A value that is pointed out, with the words beside it. */
  mark?: { index: number; words: string } | null;
  /** Say below the title what the finding is; the default. Where the words stand elsewhere already: false. */
  isFindingShown?: boolean;
  /** Likewise of the title. */
  isTitleShown?: boolean;
  height?: number;
  /** Level of the heading; 3 if left out. */
  level?: 2 | 3;
  /** Name of files, without ending. */
  file?: string;
  /** The person chooses values: told when done, null for none. */
  brush?: (range: Brushed | null) => void;
  /** The person points at a value, by pressing or dragging. */
  pick?: (index: number) => void;
}

/** What a drawing gives back: its height, where a pointer is, and what can be brushed. */
export interface Drawing {
  width: number;
  height: number;
  /** The picture itself, an image with a description. */
  image: SVGGElement;
  /** What lies over it and can be focused. */
  over: SVGElement[];
  /** The value under a point, if one is there. */
  find: (x: number, y: number) => number | null;
  /** Words below: peaks that were cut, categories left out. */
  remark: string;
}

/** What stays between two drawings of a picture. */
export interface Held {
  /** Positions that were brushed. */
  chosen: Set<number> | null;
  /** While a pointer drags, nothing is drawn anew. */
  isHeld: boolean;
  choose: (chosen: Set<number> | null, isDone: boolean) => void;
}

export class Picture {
  readonly element: HTMLElement;
  readonly #head = h("div", { class: "picture-head" });
  readonly #canvas = h("div", { class: "canvas" });
  readonly #readout = h("p", { class: "readout note", "aria-hidden": "true" });
  readonly #numbers: HTMLDetailsElement;
  readonly #observer: ResizeObserver;
  readonly #held: Held = { chosen: null, isHeld: false, choose: (chosen, isDone) => this.#choose(chosen, isDone) };
  #spec: Spec | null = null;
  #drawn: Drawing | null = null;
  #width = 0;

  constructor(className = "") {
    this.#numbers = h(
      "details",
      { class: "numbers", ontoggle: () => this.#fillNumbers() },
      h("summary", {}, "Numbers"),
    );
    this.element = h(
      "figure",
      { class: `picture ${className}` },
      this.#head,
      this.#canvas,
      h("div", { class: "picture-foot" }, this.#numbers, this.#readout),
    );
    this.#canvas.addEventListener("pointermove", (event) => this.#point(event));
    this.#canvas.addEventListener("pointerleave", () => put(this.#readout, this.#drawn?.remark ?? ""));
    this.#observer = new ResizeObserver(() => this.#resize());
    this.#observer.observe(this.#canvas);
  }

  /** Draw this; what was brushed stays, unless the values are others. */
  show(spec: Spec): void {
    if (this.#spec && this.#spec.values.size !== spec.values.size) this.#held.chosen = null;
    this.#spec = spec;
    put(
      this.#head,
      headOf(spec),
      spec.isFindingShown === false ? null : h("p", { class: "finding" }, spec.finding),
      legendOf(spec),
    );
    if (!this.#held.isHeld) this.#draw();
    this.#fillNumbers();
  }

  /** Forget what was brushed. */
  clear(): void {
    this.#held.chosen = null;
    this.#draw();
  }

  /** Brush these positions, as a query typed elsewhere would. */
  choose(indices: number[] | null): void {
    this.#held.chosen = indices && indices.length > 0 ? new Set(indices) : null;
    if (!this.#held.isHeld) this.#draw();
  }

  /** The picture as it would be in a file: light, of one width, with its styles. */
  svg(): string {
    const spec = this.#spec;
    return spec ? svgOf(spec, (width) => drawn(plain(spec), width, null)) : "";
  }

  /** No longer look at the width. */
  end(): void {
    this.#observer.disconnect();
  }

  #resize(): void {
    const width = Math.floor(this.#canvas.clientWidth);
    if (width > 0 && width !== this.#width && !this.#held.isHeld) this.#draw();
  }

  #draw(): void {
    const spec = this.#spec;
    this.#width = Math.floor(this.#canvas.clientWidth);
    if (!spec || this.#width <= 0) return;
    const focused = this.#canvas.contains(document.activeElement)
      ? document.activeElement?.getAttribute("data-handle")
      : null;
    const made = (this.#drawn = drawn(spec, this.#width, this.#held));
    const svg = s(
      "svg",
      { width: made.width, height: made.height, viewBox: `0 0 ${made.width} ${made.height}` },
      made.image,
      ...made.over,
    );
    if (spec.pick) this.#letPick(svg, spec);
    put(this.#canvas, svg);
    put(this.#readout, made.remark);
    if (focused) this.#canvas.querySelector<SVGElement>(`[data-handle="${CSS.escape(focused)}"]`)?.focus();
  }

  /** A pointer that is pressed and moved picks values; the page still scrolls up and down under a finger. */
  #letPick(svg: SVGSVGElement, spec: Spec): void {
    svg.classList.add("pickable");
    let isDown = false;
    const pick = (event: PointerEvent): void => {
      const found = this.#find(event);
      if (found !== null) spec.pick?.(found);
    };
    this.#canvas.onpointerdown = (event) => {
      isDown = true;
      this.#canvas.setPointerCapture(event.pointerId);
      pick(event);
    };
    this.#canvas.onpointermove = (event) => {
      if (isDown || (event.buttons & 1) === 1) pick(event);
    };
    this.#canvas.onpointerup = this.#canvas.onpointercancel = () => {
      isDown = false;
    };
  }

  #find(event: PointerEvent): number | null {
    const box = this.#canvas.getBoundingClientRect();
    return this.#drawn?.find(event.clientX - box.left, event.clientY - box.top) ?? null;
  }

  /** Say the shares of the value under the pointer. */
  #point(event: PointerEvent): void {
    const found = this.#find(event);
    const spec = this.#spec;
    if (found === null || !spec) return;
    const parts = spec.series.map((one) => `${one.name} ${percent(one.shares[found] ?? 0)}`);
    put(this.#readout, `${valueWords(spec, found)}: ${parts.join(", ")}`);
  }

  #choose(chosen: Set<number> | null, isDone: boolean): void {
    const spec = this.#spec;
    this.#held.chosen = chosen;
    if (!spec) return;
    const words = chosen ? brushedOf(spec.values, chosen).words : "";
    if (!isDone) return put(this.#readout, words);
    this.#draw();
    put(this.#readout, words);
    spec.brush?.(chosen ? brushedOf(spec.values, chosen) : null);
  }

  /** Numbers are made when they are looked at: a table of ten thousand cells takes longer than the picture. */
  #fillNumbers(): void {
    const spec = this.#spec;
    const summary = this.#numbers.firstElementChild;
    if (!spec || !summary || !this.#numbers.open) return;
    const name = spec.file ?? "picture";
    const buttons = h(
      "p",
      { class: "take-along" },
      "Take along: ",
      h("button", { type: "button", onclick: () => save(`${name}.csv`, csvOf(spec), "text/csv") }, "CSV"),
      h("button", { type: "button", onclick: () => save(`${name}.svg`, this.svg(), "image/svg+xml") }, "SVG"),
      h(
        "button",
        {
          type: "button",
          onclick: () => void pngOf(this.svg()).then((blob) => save(`${name}.png`, blob, "image/png")),
        },
        "PNG",
      ),
    );
    put(this.#numbers, summary, buttons, ...tablesOf(spec));
  }
}

/** A picture for a file: without what only a hand can use. */
function plain(spec: Spec): Spec {
  const { brush: _brush, pick: _pick, ...rest } = spec;
  return rest;
}

function drawn(spec: Spec, width: number, held: Held | null): Drawing {
  if (spec.values.plane) return drawPlane(spec, width, held);
  return spec.values.positions ? drawLine(spec, width, held) : drawCategories(spec, width, held);
}

/** Class of a colour's name; a name that nobody knows is grey, whatever a file says. */
export function of(colour: string): string {
  return `of-${COLOURS.has(colour) ? colour : "faint"}`;
}

/** The same of a series, faded while a newer one is at work. */
export function ofSeries({ colour, isOld }: Series): string {
  return `${of(colour)}${isOld ? " old" : ""}`;
}

/** A value as a sentence names it: "37 years", "north-west". */
export function valueWords(spec: Pick<Spec, "values" | "name">, index: number): string {
  const label = spec.values.labels[index] ?? "";
  if (spec.values.kind === "grid") return label.replace(/^\((-?\d+), (-?\d+)\)$/, "row $1, column $2");
  return spec.values.positions && spec.name && /^-?[\d.,]+$/.test(label) ? `${spec.name} ${label}` : label;
}

export function brushedOf(values: Values, chosen: Set<number>): Brushed {
  const indices = [...chosen].sort((a, b) => a - b);
  const [first, last] = [indices[0] ?? 0, indices.at(-1) ?? 0];
  const names = indices.map((index) => values.labels[index] ?? "");
  if (values.positions)
    return { indices, words: first === last ? names[0]! : `${values.labels[first]} to ${values.labels[last]}` };
  const [from, to] = [first, last].map((index) => valueWords({ values }, index));
  return {
    indices,
    words: !values.plane
      ? names.join(", ")
      : indices.length === 1
        ? from!
        : `${indices.length} cells, from ${from} to ${to}`,
  };
}

/** An image that says its finding. */
export function image(spec: Spec, ...children: SVGElement[]): SVGGElement {
  return s("g", { role: "img", "aria-label": [spec.title, spec.finding].filter(Boolean).join(". ") }, ...children);
}

function headOf(spec: Spec): HTMLElement | null {
  return spec.title && spec.isTitleShown !== false ? h(spec.level === 2 ? "h2" : "h3", {}, spec.title) : null;
}

export function legendOf(spec: Pick<Spec, "series" | "windows" | "values">): HTMLElement | null {
  if (spec.values.plane || (spec.series.length < 2 && !spec.windows?.length)) return null;
  const entries = spec.series.map((one) =>
    h(
      "li",
      {},
      h("span", { class: `swatch ${ofSeries(one)} ${one.colour === "truth" ? "truth" : (one.form ?? "")}` }),
      one.isOld ? `${one.name}, at work…` : one.name,
    ),
  );
  if (spec.windows?.length)
    entries.push(
      h(
        "li",
        {},
        h("span", { class: "swatch window of-stacked" }),
        spec.values.positions ? "each range’s share, between its ends" : "between its ends",
      ),
    );
  return h("ul", { class: "legend" }, ...entries);
}

const MOST_ROWS = 400;

function tablesOf(spec: Spec): HTMLElement[] {
  const head = h(
    "tr",
    {},
    h("th", { class: "words" }, spec.name ?? "value"),
    ...spec.series.map((one) => h("th", {}, one.name)),
  );
  const rows = spec.values.labels
    .slice(0, MOST_ROWS)
    .map((label, index) =>
      h(
        "tr",
        {},
        h("td", { class: "words named" }, label),
        ...spec.series.map((one) => h("td", {}, percent(one.shares[index] ?? 0))),
      ),
    );
  const tables = [framed(`${spec.title || "Shares"} in numbers`, head, rows)];
  if (spec.windows?.length) {
    const columns = h(
      "tr",
      {},
      ...["window", "share", "from", "to"].map((name, index) => h("th", { class: index ? "" : "words" }, name)),
    );
    tables.unshift(
      framed(
        "Windows in numbers",
        columns,
        spec.windows.map((one) =>
          h(
            "tr",
            {},
            h("td", { class: "words named" }, one.label),
            ...[one.estimate, one.low, one.high].map((share) => h("td", {}, percent(share))),
          ),
        ),
      ),
    );
  }
  if (spec.values.size > MOST_ROWS)
    tables.push(
      h(
        "p",
        { class: "note" },
        `The first ${MOST_ROWS} of ${spec.values.size.toLocaleString("en")} values; all of them are in the CSV.`,
      ),
    );
  return tables;
}

/** A table in a frame that scrolls, by keyboard too. */
export function framed(label: string, head: HTMLElement, rows: HTMLElement[]): HTMLElement {
  return h(
    "div",
    { class: "frame", tabindex: 0, role: "region", "aria-label": label },
    h("table", { class: "tall" }, h("thead", {}, head), h("tbody", {}, ...rows)),
  );
}
