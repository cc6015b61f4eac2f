/** Shares of categories: a row each, its bars below each other, with the ends of an interval as a line. */

import { s } from "../shared/dom.js";
import { at, largest, percent, percents, shorten, ticks, widthOf } from "../shared/scales.js";
import { type Drawing, type Held, image, ofSeries, type Series, type Spec } from "./charts.js";

const MOST_ROWS = 30;
const BAR = 12;
const AIR = 12;
const AXIS = 26;

interface Row {
  index: number;
  label: string;
  top: number;
  height: number;
}

interface Frame {
  left: number;
  right: number;
  x: (share: number) => number;
  /** Labels stand above their bars where beside them is no room. */
  isAbove: boolean;
}

export function drawCategories(spec: Spec, width: number, held: Held | null): Drawing {
  const shown = rowsShown(spec);
  const widest = largest(
    shown.map((index) => widthOf(spec.values.labels[index] ?? "", 13, spec.mark?.index === index ? 650 : 400)),
    20,
  );
  const isAbove = widest > width * 0.34;
  const left = isAbove ? 2 : Math.ceil(widest) + 12;
  const ends = spec.windows?.flatMap((one) => (one.indices.length === 1 ? [one.high] : [])) ?? [];
  const high =
    largest(
      [...spec.series.flatMap((one) => one.shares), ...spec.series.flatMap((one) => one.band?.high ?? []), ...ends],
      1e-6,
    ) * 1.02;
  const right = width - 46;
  const frame: Frame = { left, right, isAbove, x: (share) => left + (Math.max(0, share) / high) * (right - left) };
  const each = (isAbove ? 20 : 0) + spec.series.length * (BAR + 2) + AIR;
  const rows = shown.map((index, place) => ({
    index,
    label: spec.values.labels[index] ?? "",
    top: place * each + 4,
    height: each,
  }));
  const height = rows.length * each + AXIS + 4;
  const steps = ticks(0, high, Math.max(2, Math.floor((right - left) / 80)));
  const labels = percents(steps);
  const marks = [
    ...steps.map((share, index) => gridLine(frame, share, labels[index]!, height)),
    ...rows.flatMap((row) => drawRow(spec, frame, row)),
  ];
  const left_out = spec.values.size - rows.length;
  const remark = left_out > 0 ? `The ${rows.length} largest of ${spec.values.size} are shown; Numbers has all.` : "";
  const over = spec.brush && held ? rows.map((row) => choice(spec, row, width, held)) : [];
  return {
    width,
    height,
    image: image(spec, ...marks),
    over,
    remark,
    find: (_x, y) => rows.find((row) => y >= row.top && y < row.top + row.height)?.index ?? null,
  };
}

/** Places of the rows: all in their order, or where there are too many the largest ones, largest first. */
function rowsShown(spec: Spec): number[] {
  const all = spec.values.labels.map((_label, index) => index);
  if (all.length <= MOST_ROWS) return all;
  const size = (index: number): number =>
    largest(
      spec.series.map((one) => one.shares[index] ?? 0),
      0,
    );
  return all.sort((a, b) => size(b) - size(a)).slice(0, MOST_ROWS);
}

function gridLine(frame: Frame, share: number, label: string, height: number): SVGElement {
  const x = at(frame.x(share));
  const half = widthOf(label) / 2;
  return s(
    "g",
    {},
    s("line", { class: share === 0 ? "base" : "grid", x1: x, x2: x, y1: 0, y2: height - AXIS }),
    s("text", { class: "tick", x: at(Math.max(half, frame.x(share))), y: height - 8, "text-anchor": "middle" }, label),
  );
}

function drawRow(spec: Spec, frame: Frame, row: Row): SVGElement[] {
  const begin = row.top + (frame.isAbove ? 20 : 0) + AIR / 4;
  const middle = begin + (spec.series.length * (BAR + 2)) / 2;
  const weight = spec.mark?.index === row.index ? 650 : 400;
  const label = frame.isAbove
    ? s("text", { class: `label w${weight}`, x: 2, y: at(row.top + 15) }, shorten(row.label, frame.right, 13, weight))
    : s(
        "text",
        { class: `label w${weight}`, x: frame.left - 8, y: at(middle), dy: "0.34em", "text-anchor": "end" },
        row.label,
      );
  const window = spec.windows?.find((one) => one.indices.length === 1 && one.indices[0] === row.index);
  return [
    label,
    ...spec.series.flatMap((one, place) =>
      drawBar(frame, one, row.index, begin + place * (BAR + 2), place === spec.series.length - 1 ? window : undefined),
    ),
  ];
}

function drawBar(
  frame: Frame,
  series: Series,
  index: number,
  top: number,
  window: { low: number; high: number } | undefined,
): SVGElement[] {
  const share = series.shares[index] ?? 0;
  const end = frame.x(share);
  const found: SVGElement[] = [
    s("rect", {
      class: `bar solid ${ofSeries(series)}`,
      x: at(frame.left),
      y: at(top),
      width: at(Math.max(0.5, end - frame.left)),
      height: BAR,
    }),
  ];
  const ends =
    window ?? (series.band ? { low: series.band.low[index] ?? share, high: series.band.high[index] ?? share } : null);
  const middle = at(top + BAR / 2);
  if (ends) {
    const [low, high] = [frame.x(ends.low), frame.x(ends.high)];
    found.push(
      s("path", {
        class: "interval",
        d: `M${at(low)} ${at(top + 2)}v${BAR - 4}M${at(low)} ${middle}H${at(high)}M${at(high)} ${at(top + 2)}v${BAR - 4}`,
      }),
    );
  }
  const beside = Math.max(end, ends ? frame.x(ends.high) : 0);
  found.push(s("text", { class: "tick value", x: at(beside + 5), y: middle, dy: "0.34em" }, percent(share)));
  return found;
}

/** A row that can be chosen with a press, or with the space bar. */
function choice(spec: Spec, row: Row, width: number, held: Held): SVGElement {
  const toggle = (): void => {
    const chosen = new Set(held.chosen ?? []);
    if (!chosen.delete(row.index)) chosen.add(row.index);
    held.choose(chosen.size > 0 ? chosen : null, true);
  };
  return s("rect", {
    class: "choice",
    role: "checkbox",
    tabindex: 0,
    "aria-checked": String(held.chosen?.has(row.index) ?? false),
    "aria-label": `${spec.title ? `${spec.title}: ` : ""}${row.label}`,
    "data-handle": `row ${row.index}`,
    x: 0,
    y: row.top,
    width,
    height: row.height - 2,
    onclick: toggle,
    onkeydown: (event: KeyboardEvent) => {
      if (event.key !== " " && event.key !== "Enter") return;
      event.preventDefault();
      toggle();
    },
  });
}
