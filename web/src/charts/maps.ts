/** Shares on a plane: a map of cells for each series, all in the one scale of shares, windows outlined, and a brush. */
import type { Values } from "../shared/api.js";
import { s } from "../shared/dom.js";
import {
  cellSize,
  columnWords,
  corner,
  type Ground,
  type MapFrame,
  rowWords,
  scaleBar,
  UNDER,
} from "../shared/ground.js";
import { at, largest, percent, shorten, widthOf } from "../shared/scales.js";
import { planeBrush } from "./brush.js";
import { type Drawing, type Held, image, type Series, type Spec } from "./charts.js";
import { cellOf } from "./questions.js";

const GAP = 16;
const HEAD = 24;
const FOOT = 34;
// Letters of words beside a map.
const LETTERS = 12;
// Shades that the eye can tell apart (studio.css has them); all cells of one shade are one path, so that ten thousand draw at once.
const SHADES = 16;

export function drawPlane(spec: Spec, width: number, held: Held | null): Drawing {
  const plane = spec.values.plane!;
  // Many maps are compared at a glance, two beside each other on a phone; few are looked at.
  const least = spec.series.length > 2 ? 140 : 180;
  const beside = Math.max(1, Math.min(spec.series.length, Math.floor((width + GAP) / (least + GAP))));
  const ground = groundOf(spec.values);
  const atLeft = rowWords(ground, LETTERS);
  // Handles of a brush stand half outside.
  const edge = atLeft.width + (spec.brush && held ? 12 : 8);
  const room = Math.min((width - edge - 8 - GAP * (beside - 1)) / beside, 640);
  const cell = cellSize(ground, {
    width: room,
    height: spec.height ?? (width > 860 && spec.series.length <= 2 ? 540 : 420),
  });
  const each = { width: cell.width * plane.columns, height: cell.height * plane.rows + HEAD + UNDER };
  // Names of maps that are narrower than they are stand beside each other all the same.
  const step = Math.min(room, Math.max(each.width, 150)) + GAP;
  const frames = spec.series.map((_one, index) => ({
    left: edge + (index % beside) * step,
    top: Math.floor(index / beside) * (each.height + GAP) + HEAD,
    cell,
    rows: plane.rows,
    columns: plane.columns,
  }));
  const high = largest(
    shaded(spec).flatMap((one) => one.shares),
    1e-9,
  );
  const mapsHeight = Math.ceil(spec.series.length / beside) * (each.height + GAP);
  const marks = spec.series.flatMap((one, index) => [
    ...drawMap(spec, one, frames[index]!, high, step - GAP),
    ...(index % beside === 0 ? atLeft.draw(frames[index]!) : []),
    ...columnWords(ground, frames[index]!, LETTERS),
  ]);
  if (frames.length) marks.push(...districts(spec, frames.at(-1)!));
  const over = spec.brush && held ? [planeBrush(spec, frames, held)] : [];
  const places = placesOf(spec.values);
  const find = (x: number, y: number): number | null => {
    for (const frame of frames) {
      const column = Math.floor((x - frame.left) / cell.width);
      const row = plane.rows - 1 - Math.floor((y - frame.top) / cell.height);
      if (column >= 0 && column < plane.columns && row >= 0 && row < plane.rows)
        return places.get(row * plane.columns + column) ?? null;
    }
    return null;
  };
  const key = scale(spec, mapsHeight, high);
  const bar = frames[0]
    ? scaleBar(
        ground,
        frames[0],
        key.right + 160 <= width ? { x: key.right + 28, y: mapsHeight + 18 } : { x: 1, y: mapsHeight + FOOT + 6 },
      )
    : [];
  const foot = bar.length > 0 && key.right + 160 > width ? FOOT + 14 : FOOT;
  return {
    width,
    height: mapsHeight + foot,
    image: image(spec, ...marks, ...key.marks, ...bar),
    over,
    remark: "",
    find,
  };
}

/** Position of each cell among the values, by row * columns + column. */
export function placesOf(values: Values): Map<number, number> {
  return new Map(
    (values.plane?.cells ?? []).map(([row, column], index) => [row * values.plane!.columns + column, index]),
  );
}

/** How a survey counts its first row and column. */
function firstOf(values: Values): [number, number] {
  const [row, column] = cellOf(values, 0);
  const [south, west] = values.plane?.cells[0] ?? [0, 0];
  return [row - south, column - west];
}

function groundOf(values: Values): Ground {
  const { rows, columns, degrees, spacing } = values.plane!;
  return { rows, columns, first: firstOf(values), degrees, spacing: spacing ?? null, unit: values.unit };
}

/** The share of each window, where it has room for it. */
function districts(spec: Spec, frame: MapFrame): SVGElement[] {
  const { cells, columns } = spec.values.plane!;
  return (spec.windows ?? []).flatMap((window) => {
    const own = new Set(window.indices.map((index) => cells[index]![0] * columns + cells[index]![1]));
    const block = widest(own, columns);
    const share = percent(window.estimate);
    const room = block ? (block.east - block.west + 1) * frame.cell.width - 6 : 0;
    // The name where it has room, else the share alone, else nothing: the table has all.
    const words = [...(spec.areNamed ? [`${window.label} ${share}`] : []), share].find((one) => widthOf(one) <= room);
    if (!block || !words || (block.north - block.south + 1) * frame.cell.height < 15) return [];
    const [x, y] = [
      frame.left + ((block.west + block.east + 1) / 2) * frame.cell.width,
      frame.top + (frame.rows - (block.south + block.north + 1) / 2) * frame.cell.height,
    ];
    return [s("text", { class: "district", x: at(x), y: at(y), dy: "0.34em", "text-anchor": "middle" }, words)];
  });
}

/** The largest rectangle that the longest run of cells in a row has above and below it. */
function widest(
  own: Set<number>,
  columns: number,
): { south: number; north: number; west: number; east: number } | null {
  let best: { south: number; north: number; west: number; east: number } | null = null;
  for (const cell of own) {
    const [row, west] = [Math.floor(cell / columns), cell % columns];
    if (west > 0 && own.has(cell - 1)) continue;
    let east = west;
    while (east + 1 < columns && own.has(row * columns + east + 1)) east++;
    const isInside = (at_row: number): boolean =>
      Array.from({ length: east - west + 1 }, (_none, index) => own.has(at_row * columns + west + index)).every(
        Boolean,
      );
    let [south, north] = [row, row];
    while (isInside(south - 1)) south--;
    while (isInside(north + 1)) north++;
    const area = (one: NonNullable<typeof best>): number =>
      Math.min(4, one.east - one.west + 1) * 1000 + (one.north - one.south + 1) * (one.east - one.west + 1);
    if (!best || area({ south, north, west, east }) > area(best)) best = { south, north, west, east };
  }
  return best;
}

/** Maps with one scale. Reports lie flatter than what is found from them: beside others they have a scale of their own. */
function shaded(spec: Spec): Series[] {
  const others = spec.series.filter((one) => one.colour !== "reports");
  return others.length ? others : spec.series;
}

function drawMap(spec: Spec, series: Series, frame: MapFrame, high: number, room: number): SVGElement[] {
  const paths = new Map<number, string[]>();
  const isApart = !shaded(spec).includes(series);
  const most = isApart ? largest(series.shares, 1e-9) : high;
  const size = `h${at(frame.cell.width + 0.2)}v${at(frame.cell.height + 0.2)}h${at(-frame.cell.width - 0.2)}Z`;
  spec.values.plane!.cells.forEach(([row, column], index) => {
    const share = series.shares[index] ?? 0;
    // Next to nobody is the colour of nobody, as in figures.
    const shade = Math.max(0, Math.min(SHADES, Math.round((share / most) * SHADES)));
    const [x, y] = corner(frame, row, column);
    if (!paths.has(shade)) paths.set(shade, []);
    paths.get(shade)!.push(`M${at(x)} ${at(y)}${size}`);
  });
  const ground = spec.values
    .plane!.cells.map(([row, column]) => `M${corner(frame, row, column).map(at).join(" ")}${size}`)
    .join("");
  const whole = {
    x: at(frame.left),
    y: at(frame.top),
    width: at(frame.cell.width * frame.columns),
    height: at(frame.cell.height * frame.rows),
  };
  return [
    s(
      "text",
      { class: "share", x: at(frame.left), y: frame.top - 8 },
      shorten(
        isApart ? `${series.name}, to ${percent(most)}` : series.isOld ? `${series.name}, at work…` : series.name,
        room,
        13,
        650,
      ),
    ),
    // Nobody is the card's colour; what is no cell at all is not.
    s("rect", { class: "hole", ...whole }),
    s("path", { class: "ground", d: ground }),
    ...[...paths]
      .filter(([shade]) => shade > 0)
      .map(([shade, parts]) =>
        s("path", { class: `heat-of-${shade}${series.isOld ? " old" : ""}`, d: parts.join("") }),
      ),
    s("rect", { class: "map-edge", ...whole }),
    ...outlines(spec, frame),
    ...markedCell(spec, frame),
  ];
}

/** Lines between cells that lie in different windows. */
function outlines(spec: Spec, frame: MapFrame): SVGElement[] {
  if (!spec.windows?.length) return [];
  const owner = new Map<number, number>();
  spec.windows.forEach((window, number) => window.indices.forEach((index) => owner.set(index, number)));
  const places = placesOf(spec.values);
  const at_cell = (row: number, column: number): number | undefined => {
    const place =
      row < 0 || column < 0 || column >= frame.columns || row >= frame.rows
        ? undefined
        : places.get(row * frame.columns + column);
    return place === undefined ? undefined : owner.get(place);
  };
  let d = "";
  for (let row = 0; row <= frame.rows; row++) {
    for (let column = 0; column <= frame.columns; column++) {
      const [x, y] = corner(frame, row, column);
      if (at_cell(row, column) !== at_cell(row, column - 1)) d += `M${at(x)} ${at(y)}v${at(frame.cell.height)}`;
      if (at_cell(row, column) !== at_cell(row - 1, column))
        d += `M${at(x)} ${at(y + frame.cell.height)}h${at(frame.cell.width)}`;
    }
  }
  return [s("path", { class: "outline", d })];
}

function markedCell(spec: Spec, frame: MapFrame): SVGElement[] {
  const cell = spec.mark ? spec.values.plane!.cells[spec.mark.index] : undefined;
  if (!cell) return [];
  const [x, y] = corner(frame, ...cell);
  return [
    s("rect", { class: "mark-cell", x: at(x), y: at(y), width: at(frame.cell.width), height: at(frame.cell.height) }),
  ];
}

/** What the shades say, from none to the largest share of a cell; and where that ends. */
function scale(spec: Spec, top: number, high: number): { marks: SVGElement[]; right: number } {
  const boxes = Array.from({ length: SHADES }, (_none, index) =>
    s("rect", { class: `heat-of-${index + 1}`, x: at(28 + index * 8), y: at(top + 8), width: 8.2, height: 10 }),
  );
  const words = `${percent(high)} of ${spec.measure?.includes("report") ? "reports" : "people"} in a cell`;
  const behind = 28 + SHADES * 8 + 6;
  const marks = [
    s("text", { class: "tick", x: 0, y: at(top + 17) }, "0%"),
    ...boxes,
    s("text", { class: "tick", x: at(behind), y: at(top + 17) }, words),
  ];
  return { marks, right: behind + widthOf(words, LETTERS) };
}
