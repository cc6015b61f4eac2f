/** Shares over a line: steps, areas, bands, windows with the ends of their shares, and a brush. */

import { s } from "../shared/dom.js";
import { at, largest, percent, percents, shorten, smallest, ticks, widthOf } from "../shared/scales.js";
import { lineBrush } from "./brush.js";
import { type Drawing, type Held, image, ofSeries, type Series, type Spec } from "./charts.js";

const TOP = 26;
const BOTTOM = 42;
// An estimate that goes wild (a maximum of the likelihood, an inversion), and reports, which pile up at the ends, would
// press all others flat: their peaks are cut at this many times the others', and the picture says so.
const HEADROOM = 1.6;
const WILD = new Set(["mle", "normalized", "projected", "reports"]);
// A wild estimate is rough if it goes up and down by this many times as much as any other: a fence before all others.
const ROUGH = 3;
// The handles of a brush stand below the axis, where no share is.
const HANDLES = 22;

/** Where things lie in a picture over a line. */
export interface Frame {
  left: number;
  right: number;
  top: number;
  bottom: number;
  /** Between the values: one more than there are. */
  edges: number[];
  x: (position: number) => number;
  y: (share: number) => number;
}

export function drawLine(spec: Spec, width: number, held: Held | null): Drawing {
  const height = spec.height ?? Math.round(Math.min(380, Math.max(230, width * 0.42)));
  const foot = BOTTOM + (spec.brush && held ? HANDLES : 0);
  const { low, high, isCut } = reach(spec);
  const steps = ticks(low, high, Math.max(2, Math.floor((height - TOP - foot) / 42)));
  const labels = percents(steps);
  const left =
    Math.ceil(
      largest(
        labels.map((label) => widthOf(label)),
        20,
      ),
    ) + 12;
  const edges = edgesOf(spec.values.positions ?? []);
  const frame: Frame = {
    left,
    right: width - 12,
    top: TOP,
    bottom: height - foot,
    edges,
    x: (position) => left + ((position - edges[0]!) / (edges.at(-1)! - edges[0]!)) * (width - 12 - left),
    y: (share) => height - foot - ((share - low) / (high - low)) * (height - foot - TOP),
  };
  const marks = [
    s("text", { class: "axis-name", x: 0, y: 12 }, shorten(measureOf(spec), width)),
    ...steps.map((share, index) => gridLine(frame, share, labels[index]!)),
    ...spec.series.flatMap((one) => drawSeries(frame, one)),
    ...(spec.windows ?? []).map((one) => drawWindow(frame, one)),
    ...inOrder(spec.series).map(([one, look]) => outline(frame, one, isSure(spec, one) ? look : `${look} faded`)),
    ...windowLabels(frame, spec),
    ...valueAxis(frame, spec, width, height, foot - BOTTOM),
    ...marked(frame, spec, width),
  ];
  const over = spec.brush && held ? [lineBrush(spec, frame, held)] : [];
  const remark = isCut ? `Peaks above ${percent(high)} are cut off.` : "";
  return { width, height, image: image(spec, ...marks), over, remark, find: (x) => findValue(frame, x) };
}

/** The share at the bottom and at the top of the picture. */
function reach(spec: Spec): { low: number; high: number; isCut: boolean } {
  const peak = (series: Series[]): number =>
    largest(
      series.flatMap((one) => [
        largest(one.shares, 0),
        formOf(one) === "line" || !one.band ? 0 : largest(one.band.high, 0),
      ]),
      0,
    );
  const calm = spec.series.filter((one) => !WILD.has(one.colour));
  const boxes = largest(
    (spec.windows ?? []).map((one) => one.high / one.indices.length),
    0,
  );
  // Room for the words above the windows.
  const air = boxes > 0 ? 1.2 : 1;
  const all = Math.max(peak(spec.series), boxes) * air;
  const most = calm.length > 0 ? Math.max(peak(calm) * HEADROOM, boxes * HEADROOM) : all;
  const isCut = all > most && most > 0;
  const high = (isCut ? most : all) || 1;
  const bottom = smallest(
    spec.series.map((one) => smallest(one.shares, 0)),
    0,
  );
  return { low: Math.max(bottom, -high / 3) * 1.03, high: high * 1.06, isCut };
}

/** Limits halfway between neighbours, where positions lie unevenly too. */
export function edgesOf(positions: number[]): number[] {
  if (positions.length === 0) return [0, 1];
  if (positions.length === 1) return [positions[0]! - 0.5, positions[0]! + 0.5];
  const between = positions.slice(1).map((position, index) => (position + positions[index]!) / 2);
  const [first, last] = [positions[0]!, positions.at(-1)!];
  return [2 * first - between[0]!, ...between, 2 * last - between.at(-1)!];
}

function findValue(frame: Frame, x: number): number | null {
  if (x < frame.left - 6 || x > frame.right + 6) return null;
  const found = frame.edges.findIndex((edge, index) => index > 0 && x < frame.x(edge));
  return found < 0 ? frame.edges.length - 2 : found - 1;
}

function measureOf(spec: Spec): string {
  const measure = spec.measure ?? "share of people";
  const unit = spec.values.unit;
  const [first, second] = spec.values.positions ?? [];
  return unit && second !== undefined && Math.abs(second - first! - 1) < 1e-9 ? `${measure}, per ${unit}` : measure;
}

function gridLine(frame: Frame, share: number, label: string): SVGElement {
  const y = at(frame.y(share));
  return s(
    "g",
    {},
    s("line", { class: Math.abs(share) < 1e-12 ? "base" : "grid", x1: frame.left, x2: frame.right, y1: y, y2: y }),
    s("text", { class: "tick", x: frame.left - 6, y, dy: "0.34em", "text-anchor": "end" }, label),
  );
}

function formOf(series: Series): NonNullable<Series["form"]> {
  return series.form ?? (series.colour === "truth" ? "area" : "steps");
}

/** A share's height, held within the picture. */
function within(frame: Frame, share: number): string {
  return at(Math.min(Math.max(frame.y(share), frame.top - 3), frame.bottom + 3));
}

/** Corners of a staircase over the values, from the left to the right. */
function stairs(frame: Frame, shares: number[]): string {
  return shares
    .map(
      (share, index) =>
        `${index === 0 ? "" : "L"}${at(frame.x(frame.edges[index]!))} ${within(frame, share)}H${at(frame.x(frame.edges[index + 1]!))}`,
    )
    .join("");
}

function back(frame: Frame, shares: number[]): string {
  return shares
    .map(
      (share, index) =>
        `L${at(frame.x(frame.edges[index + 1]!))} ${within(frame, share)}H${at(frame.x(frame.edges[index]!))}`,
    )
    .reverse()
    .join("");
}

/** What is filled: an area, bars, a band. */
function drawSeries(frame: Frame, series: Series): SVGElement[] {
  const found: SVGElement[] = [];
  const form = formOf(series);
  const floor = within(frame, 0);
  if (series.band)
    found.push(
      s("path", {
        class: `band ${ofSeries(series)}`,
        d: `M${stairs(frame, series.band.high)}${back(frame, series.band.low)}Z`,
      }),
    );
  if (form === "area")
    found.push(
      s("path", {
        class: `area ${ofSeries(series)}`,
        d: `M${at(frame.x(frame.edges[0]!))} ${floor}L${stairs(frame, series.shares)}V${floor}Z`,
      }),
    );
  if (form === "bars")
    found.push(s("path", { class: `bar ${ofSeries(series)}`, d: bars(frame, series.shares, floor) }));
  return found;
}

/** Bars as one path, with air between them where there is room. */
function bars(frame: Frame, shares: number[], floor: string): string {
  return shares
    .map((share, index) => {
      if (share === 0) return "";
      const [from, to] = [frame.x(frame.edges[index]!), frame.x(frame.edges[index + 1]!)];
      const air = to - from > 4 ? 0.5 : 0;
      return `M${at(from + air)} ${floor}V${within(frame, share)}H${at(to - air)}V${floor}Z`;
    })
    .join("");
}

/** Curves from the back to the front, and how: rough ones thin and behind, the default method last and thickest. */
function inOrder(series: Series[]): [Series, string][] {
  const drawn = series.filter((one) => formOf(one) !== "bars");
  const calm = largest(drawn.filter((one) => !WILD.has(one.colour)).map(swing), 0);
  const look = (one: Series): string => {
    if (formOf(one) === "area") return "thin";
    if (one.colour === "stacked" && drawn.length > 1) return "main";
    return calm > 0 && one.colour !== "reports" && WILD.has(one.colour) && swing(one) > ROUGH * calm ? "rough" : "";
  };
  const rank = ["rough", "thin", "", "main"];
  return drawn
    .map((one): [Series, string] => [one, look(one)])
    .sort(([, one], [, other]) => rank.indexOf(one) - rank.indexOf(other));
}

/** Whether each value's share is known by itself: within a window a bump of the estimate may be chance. */
function isSure({ windows = [], values }: Spec, { colour }: Series): boolean {
  return colour !== "stacked" || windows.length === 0 || windows.length === values.size;
}

/** How far a curve goes up and down in all. */
function swing({ shares }: Series): number {
  return shares.reduce((sum, share, index) => sum + Math.abs(share - (shares[index - 1] ?? share)), 0);
}

function outline(frame: Frame, series: Series, look: string): SVGElement {
  const form = formOf(series);
  const middles = series.shares.map(
    (share, index) =>
      `${at((frame.x(frame.edges[index]!) + frame.x(frame.edges[index + 1]!)) / 2)} ${within(frame, share)}`,
  );
  return s("path", {
    class: `curve ${look} ${ofSeries(series)}`,
    d: `M${form === "line" ? middles.join("L") : stairs(frame, series.shares)}`,
  });
}

/** A box from the lower to the upper end of a window's share, spread evenly over its values. */
function drawWindow(frame: Frame, window: NonNullable<Spec["windows"]>[number]): SVGElement {
  const { from, to } = span(frame, window.indices);
  const [top, bottom] = [
    Number(within(frame, window.high / window.indices.length)),
    Number(within(frame, window.low / window.indices.length)),
  ];
  return s("rect", {
    class: `window of-stacked ${window.is_told ? "" : "untold"}`,
    x: at(from + 0.5),
    width: at(Math.max(1, to - from - 1)),
    y: at(top),
    height: at(Math.max(1, bottom - top)),
  });
}

function span(frame: Frame, indices: number[]): { from: number; to: number } {
  return { from: frame.x(frame.edges[smallest(indices)]!), to: frame.x(frame.edges[largest(indices) + 1]!) };
}

/** Each window's share over its box, and its ends below that; where they do not all fit beside each other, the largest. */
function windowLabels(frame: Frame, spec: Spec): SVGElement[] {
  const found: SVGElement[] = [];
  const taken: [number, number][] = [];
  const windows = [...(spec.windows ?? [])].sort((a, b) => b.estimate - a.estimate);
  for (const one of windows) {
    const { from, to } = span(frame, one.indices);
    const ends = `${percent(one.low).replace("%", "")} to ${percent(one.high)}`;
    const share = widthOf(percent(one.estimate), 13, 650) / 2;
    // Words stand inside of the frame, and over no others: the ends are left off before the share is.
    const room = (half: number): number | null => {
      const middle = Math.min(Math.max((from + to) / 2, frame.left + half + 4), frame.right - half);
      const isTaken = taken.some(([left, right]) => middle - half < right + 6 && middle + half > left - 6);
      return isTaken || Math.abs(middle - (from + to) / 2) > 20 ? null : middle;
    };
    const whole = Math.max(share, widthOf(ends) / 2);
    const isRoomy = 2 * whole < to - from + 24 && room(whole) !== null;
    const half = isRoomy ? whole : share;
    const middle = room(half);
    if (middle === null || half * 2 > to - from + 40) continue;
    taken.push([middle - half, middle + half]);
    // Above the box and above every curve in it, or the words would be crossed out.
    const under = (_share: number, index: number): boolean =>
      frame.x(frame.edges[index + 1]!) > middle - half - 3 && frame.x(frame.edges[index]!) < middle + half + 3;
    const peak = largest(
      spec.series
        .filter((series) => formOf(series) !== "bars")
        .map((series) => largest(series.shares.filter(under), 0)),
      one.high / one.indices.length,
    );
    const y = Math.max(Number(within(frame, peak)) - (isRoomy ? 20 : 6), frame.top + 6);
    found.push(s("text", { class: "share", x: at(middle), y: at(y), "text-anchor": "middle" }, percent(one.estimate)));
    if (isRoomy) found.push(s("text", { class: "ends", x: at(middle), y: at(y + 13), "text-anchor": "middle" }, ends));
  }
  return found;
}

/** Ticks below: round numbers where values are numbers, their labels elsewhere; never two over each other, none cut. */
function valueAxis(frame: Frame, spec: Spec, width: number, height: number, down: number): SVGElement[] {
  const found: SVGElement[] = [];
  let free = -Infinity;
  for (const tick of valueTicks(spec, frame)) {
    const half = widthOf(tick.label) / 2;
    const middle = Math.min(Math.max(frame.x(tick.position), half), width - half);
    if (middle - half < free + 8) continue;
    free = middle + half;
    found.push(
      s("line", {
        class: "base",
        x1: at(frame.x(tick.position)),
        x2: at(frame.x(tick.position)),
        y1: frame.bottom,
        y2: frame.bottom + 4,
      }),
    );
    found.push(
      s("text", { class: "tick", x: at(middle), y: frame.bottom + 18 + down, "text-anchor": "middle" }, tick.label),
    );
  }
  const name = [spec.name, spec.values.unit && !spec.name?.includes(spec.values.unit) ? `(${spec.values.unit}s)` : ""]
    .filter(Boolean)
    .join(" ");
  if (name)
    found.push(
      s(
        "text",
        { class: "axis-name", x: at((frame.left + frame.right) / 2), y: height - 6, "text-anchor": "middle" },
        shorten(name, frame.right - frame.left),
      ),
    );
  return found;
}

function valueTicks(spec: Spec, frame: Frame): { position: number; label: string }[] {
  const positions = spec.values.positions ?? [];
  const labels = spec.values.labels;
  const isNumeric = positions.every(
    (position, index) => labels[index] !== undefined && Number(labels[index]!.replaceAll(",", "")) === position,
  );
  const room = frame.right - frame.left;
  if (isNumeric) {
    const found = ticks(
      positions[0]!,
      positions.at(-1)!,
      Math.max(2, Math.floor(room / 56)),
      positions.every(Number.isInteger),
    );
    return found.map((position) => ({
      position,
      label: position.toLocaleString("en", { useGrouping: Math.abs(position) >= 10000 }),
    }));
  }
  const widest = largest(labels.map((label) => label.length).slice(0, 300), 1) * 6.5 + 12;
  const stride = Math.max(1, Math.ceil(labels.length / Math.max(1, Math.floor(room / Math.min(widest, 140)))));
  return positions.flatMap((position, index) =>
    index % stride === 0 ? [{ position, label: shorten(labels[index] ?? "", 150) }] : [],
  );
}

/** A line up from a value that is pointed out, with its words at the top. */
function marked(frame: Frame, spec: Spec, width: number): SVGElement[] {
  const position = spec.mark ? spec.values.positions?.[spec.mark.index] : undefined;
  if (!spec.mark || position === undefined) return [];
  const x = frame.x(position);
  const words = shorten(spec.mark.words, width - 8, 12, 650);
  const half = widthOf(words, 12, 650) / 2;
  const middle = Math.min(Math.max(x, half + 2), width - half - 2);
  return [
    s("line", { class: "mark", x1: at(x), x2: at(x), y1: frame.top + 6, y2: frame.bottom }),
    s("text", { class: "mark-words", x: at(middle), y: frame.top, "text-anchor": "middle" }, words),
  ];
}
