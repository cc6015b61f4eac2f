/** Shares on a plane: a map of cells for each series, the darker the larger, windows outlined, and a brush. */
import type { Values } from "./api.js";
import { planeBrush } from "./brush.js";
import { image, of, type Drawing, type Held, type Series, type Spec } from "./charts.js";
import { s } from "./dom.js";
import { at, largest, percent, shorten } from "./scales.js";

const GAP = 16;
const HEAD = 24;
const FOOT = 34;
// Shades that the eye can tell apart; all cells of one shade are one path, so that ten thousand draw at once.
const SHADES = 16;

/** One map's place, and how cells lie in it. */
export interface MapFrame {
  left: number;
  top: number;
  cell: { width: number; height: number };
  rows: number;
  columns: number;
}

export function drawPlane(spec: Spec, width: number, held: Held | null): Drawing {
  const plane = spec.values.plane!;
  // Many maps are compared at a glance, two beside each other on a phone; few are looked at.
  const least = spec.series.length > 2 ? 140 : 180;
  const beside = Math.max(1, Math.min(spec.series.length, Math.floor((width + GAP) / (least + GAP))));
  // Handles of a brush stand half outside.
  const edge = spec.brush && held ? 7 : 0;
  const room = Math.min((width - 2 * edge - GAP * (beside - 1)) / beside, 460);
  const ratio = cellRatio(plane);
  const cellWidth = Math.min(room / plane.columns, (spec.height ?? 420) / plane.rows / ratio);
  const cell = { width: cellWidth, height: cellWidth * ratio };
  const each = { width: cellWidth * plane.columns, height: cell.height * plane.rows + HEAD };
  const step = Math.max(room, each.width) + GAP;
  const frames = spec.series.map((_one, index) => ({ left: edge + (index % beside) * step, top: Math.floor(index / beside) * (each.height + GAP) + HEAD, cell, rows: plane.rows, columns: plane.columns }));
  const high = largest(spec.series.flatMap((one) => one.shares), 1e-9);
  const mapsHeight = Math.ceil(spec.series.length / beside) * (each.height + GAP);
  const marks = spec.series.flatMap((one, index) => drawMap(spec, one, frames[index]!, high, room));
  const over = spec.brush && held ? [planeBrush(spec, frames, held)] : [];
  const places = placesOf(spec.values);
  const find = (x: number, y: number): number | null => {
    for (const frame of frames) {
      const column = Math.floor((x - frame.left) / cell.width);
      const row = plane.rows - 1 - Math.floor((y - frame.top) / cell.height);
      if (column >= 0 && column < plane.columns && row >= 0 && row < plane.rows) return places.get(row * plane.columns + column) ?? null;
    }
    return null;
  };
  return { width, height: mapsHeight + FOOT, image: image(spec, ...marks, ...scale(spec, mapsHeight, high)), over, remark: "", find };
}

/** Height of a cell by its width: degrees of longitude are narrower in the north. */
function cellRatio(plane: NonNullable<Values["plane"]>): number {
  if (!plane.degrees) return 1;
  const { south, north, west, east } = plane.degrees;
  const narrow = Math.cos((((south + north) / 2) * Math.PI) / 180);
  const ratio = (north - south) / plane.rows / (((east - west) * narrow) / plane.columns);
  return Number.isFinite(ratio) && ratio > 0 ? Math.min(4, Math.max(0.25, ratio)) : 1;
}

/** Position of each cell among the values, by row * columns + column. */
export function placesOf(values: Values): Map<number, number> {
  return new Map((values.plane?.cells ?? []).map(([row, column], index) => [row * values.plane!.columns + column, index]));
}

function corner(frame: MapFrame, row: number, column: number): [number, number] {
  return [frame.left + column * frame.cell.width, frame.top + (frame.rows - 1 - row) * frame.cell.height];
}

function drawMap(spec: Spec, series: Series, frame: MapFrame, high: number, room: number): SVGElement[] {
  const paths = new Map<number, string[]>();
  const size = `h${at(frame.cell.width + 0.2)}v${at(frame.cell.height + 0.2)}h${at(-frame.cell.width - 0.2)}Z`;
  spec.values.plane!.cells.forEach(([row, column], index) => {
    const share = series.shares[index] ?? 0;
    const shade = share <= 0 ? 0 : Math.max(1, Math.round((share / high) * SHADES));
    const [x, y] = corner(frame, row, column);
    if (!paths.has(shade)) paths.set(shade, []);
    paths.get(shade)!.push(`M${at(x)} ${at(y)}${size}`);
  });
  const ground = spec.values.plane!.cells.map(([row, column]) => `M${corner(frame, row, column).map(at).join(" ")}${size}`).join("");
  return [
    s("text", { class: "share", x: at(frame.left), y: frame.top - 8 }, shorten(series.name, room, 13, 650)),
    s("path", { class: "ground", d: ground }),
    ...[...paths].filter(([shade]) => shade > 0).map(([shade, parts]) => s("path", { class: `cell ${of(series.colour)}`, "fill-opacity": at(shade / SHADES), d: parts.join("") })),
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
    const place = row < 0 || column < 0 || column >= frame.columns || row >= frame.rows ? undefined : places.get(row * frame.columns + column);
    return place === undefined ? undefined : owner.get(place);
  };
  let d = "";
  for (let row = 0; row <= frame.rows; row++) {
    for (let column = 0; column <= frame.columns; column++) {
      const [x, y] = corner(frame, row, column);
      if (at_cell(row, column) !== at_cell(row, column - 1)) d += `M${at(x)} ${at(y)}v${at(frame.cell.height)}`;
      if (at_cell(row, column) !== at_cell(row - 1, column)) d += `M${at(x)} ${at(y + frame.cell.height)}h${at(frame.cell.width)}`;
    }
  }
  return [s("path", { class: "outline", d })];
}

function markedCell(spec: Spec, frame: MapFrame): SVGElement[] {
  const cell = spec.mark ? spec.values.plane!.cells[spec.mark.index] : undefined;
  if (!cell) return [];
  const [x, y] = corner(frame, ...cell);
  return [s("rect", { class: "mark-cell", x: at(x), y: at(y), width: at(frame.cell.width), height: at(frame.cell.height) })];
}

/** What the shades say: from none to the largest share of a cell. */
function scale(spec: Spec, top: number, high: number): SVGElement[] {
  const colour = spec.series.at(-1)?.colour ?? "stacked";
  const boxes = Array.from({ length: SHADES }, (_none, index) => s("rect", { class: `cell ${of(colour)}`, "fill-opacity": at((index + 1) / SHADES), x: at(28 + index * 8), y: at(top + 8), width: 8.2, height: 10 }));
  return [
    s("text", { class: "tick", x: 0, y: at(top + 17) }, "0%"),
    ...boxes,
    s("text", { class: "tick", x: at(28 + SHADES * 8 + 6), y: at(top + 17) }, `${percent(high)} of ${spec.measure?.includes("report") ? "reports" : "people"} in a cell`),
  ];
}
