/** The ground of every map: how large its cells are, what stands at its edges, and how far a kilometre is on it. */

import { s } from "./dom.js";
import { at, ticks, widthOf } from "./scales.js";
import { language, t } from "./texts.js";

export interface Degrees {
  south: number;
  north: number;
  west: number;
  east: number;
}

/** Cells of the Earth, or of a plane that has no degrees. */
export interface Ground {
  rows: number;
  columns: number;
  /** How a survey counts its first row and column. */
  first: [number, number];
  degrees: Degrees | null;
  /** Size of a cell in its unit, where it has one: 0.5 and "km". */
  spacing: number | null;
  unit: string | null;
}

/** One map's place, and how cells lie in it. */
export interface MapFrame {
  left: number;
  top: number;
  cell: { width: number; height: number };
  rows: number;
  columns: number;
}

/** Below a map, for what its columns are called. */
export const UNDER = 18;
/** Below that, for the scale bar. */
export const BAR = 24;
// Rows that are named at the left edge, at most.
const ROWS_NAMED = 4;
// A degree of latitude in kilometres.
const DEGREE = 111.195;

/** The upper left corner of a cell; rows are counted from the south. */
export function corner(frame: MapFrame, row: number, column: number): [number, number] {
  return [frame.left + column * frame.cell.width, frame.top + (frame.rows - 1 - row) * frame.cell.height];
}

/** Cells as large as there is room, in the shape that they have on the ground. */
export function cellSize(ground: Ground, room: { width: number; height: number }): { width: number; height: number } {
  const ratio = cellRatio(ground);
  const width = Math.min(room.width / ground.columns, room.height / ground.rows / ratio);
  return { width, height: width * ratio };
}

/** Height of a cell by its width: degrees of longitude are narrower in the north. */
function cellRatio({ degrees, rows, columns }: Ground): number {
  if (!degrees) return 1;
  const ratio = (degrees.north - degrees.south) / rows / (acrossOf(degrees) / columns);
  return Number.isFinite(ratio) && ratio > 0 ? Math.min(4, Math.max(0.25, ratio)) : 1;
}

/** How wide a map is in the middle, in degrees of latitude. */
function acrossOf({ south, north, west, east }: Degrees): number {
  return (east - west) * Math.cos((((south + north) / 2) * Math.PI) / 180);
}

/** Words at the left edge, and the width they take. */
export function rowWords(ground: Ground, size: number): { width: number; draw: (frame: MapFrame) => SVGElement[] } {
  const found = edgeTicks(ground, ROWS_NAMED, true);
  return {
    width: Math.ceil(Math.max(0, ...found.map(({ label }) => widthOf(label, size)))),
    draw: (frame) =>
      found.map(({ position, label }) =>
        s(
          "text",
          {
            class: "tick",
            x: at(frame.left - 8),
            y: at(frame.top + (frame.rows - position) * frame.cell.height),
            dy: "0.34em",
            "text-anchor": "end",
          },
          label,
        ),
      ),
  };
}

/** Words below a map, as many as have room beside each other. */
export function columnWords(ground: Ground, frame: MapFrame, size: number): SVGElement[] {
  const [bottom, right] = [frame.top + frame.rows * frame.cell.height, frame.left + frame.columns * frame.cell.width];
  const found: SVGElement[] = [];
  let end = -Infinity;
  for (const { position, label } of edgeTicks(ground, Math.max(1, Math.floor((right - frame.left) / 105)), false)) {
    const half = widthOf(label, size) / 2;
    const middle = Math.min(
      Math.max(frame.left + position * frame.cell.width, frame.left + half),
      Math.max(right - half, frame.left + half),
    );
    if (middle - half < end + 8) continue;
    end = middle + half;
    found.push(s("text", { class: "tick", x: at(middle), y: at(bottom + 15), "text-anchor": "middle" }, label));
  }
  return found;
}

/** Where rows or columns are named on the edge of a map: positions count cells from the south or the west. */
function edgeTicks(
  { degrees, rows, columns, first, spacing, unit }: Ground,
  most: number,
  isRow: boolean,
): { position: number; label: string }[] {
  const count = isRow ? rows : columns;
  // Whoever knows the ground thinks in kilometres from its corner; a cell's number says nothing.
  if (!degrees && spacing && unit)
    return ticks(0, count * spacing, most).map((far) => ({
      position: far / spacing,
      label: far === 0 ? "0" : distanceWords(far, unit),
    }));
  if (!degrees)
    return ticks(0, count - 1, most, true).map((index) => ({
      position: index + 0.5,
      label: `${isRow ? "row" : "column"} ${index + first[isRow ? 0 : 1]}`,
    }));
  const [low, high] = isRow ? [degrees.south, degrees.north] : [degrees.west, degrees.east];
  const found = ticks(low, high, most);
  // Both edges in the same digits: those of the finer one.
  const every = [...found, ...ticks(degrees.south, degrees.north, ROWS_NAMED)];
  let digits = 0;
  while (digits < 5 && every.some((angle) => Math.abs(angle * 10 ** digits - Math.round(angle * 10 ** digits)) > 1e-6))
    digits++;
  return found.map((angle) => ({
    position: ((angle - low) / (high - low)) * count,
    label: degree(angle, isRow, digits),
  }));
}

export function degree(angle: number, isLatitude: boolean, digits: number): string {
  return `${Math.abs(angle).toFixed(digits)}° ${isLatitude ? (angle < 0 ? "S" : "N") : angle < 0 ? "W" : "E"}`;
}

/** Digits of degrees that tell a cell of this height from the next, and no more. */
export function digitsOf(height: number): number {
  return Math.min(6, Math.max(0, Math.ceil(-Math.log10(height))));
}

/** A round distance as it is on this map, with its words; nothing where cells have no size. */
export function scaleBar(ground: Ground, frame: MapFrame, place: { x: number; y: number }): SVGElement[] {
  const { degrees, spacing, columns } = ground;
  const each = degrees ? (acrossOf(degrees) * DEGREE) / columns : spacing;
  const unit = degrees ? "km" : ground.unit;
  if (!each || !unit) return [];
  const [length] = ticks(0, (each * Math.min(columns, 120 / frame.cell.width)) / 1.0001, 2).slice(-1);
  if (!length) return [];
  const wide = (length / each) * frame.cell.width;
  return [
    s("path", { class: "scale-bar", d: `M${at(place.x)} ${at(place.y - 4)}v4h${at(wide)}v-4` }),
    s("text", { class: "tick", x: at(place.x + wide + 7), y: at(place.y), dy: "0.05em" }, distanceWords(length, unit)),
  ];
}

/** A distance as people say it: "500 m", "2 km". */
export function distanceWords(length: number, unit: string, digits = 2): string {
  const isShort = unit === "km" && length < 1;
  return `${Number((isShort ? length * 1000 : length).toPrecision(digits)).toLocaleString(language())} ${isShort ? "m" : unit}`;
}

/** Where a cell of a plane lies, from its lower left corner: "5.75 km up, 250 m across"; nothing where cells have no size. */
export function fromCorner(
  [row, column]: [number, number],
  spacing: number | null | undefined,
  unit: string | null,
): string {
  if (!spacing || !unit) return "";
  const [far, aside] = [row, column].map((index) => distanceWords(Math.abs(index + 0.5) * spacing, unit, 3));
  const [upward, sideward] = [
    t(row < 0 ? "corner.down" : "corner.up", { far: far ?? "" }),
    t(column < 0 ? "corner.left" : "corner.across", { far: aside ?? "" }),
  ];
  return `${upward}, ${sideward}`;
}

/** The next cell in a direction that people have; where there is none, the one before. */
export function stepOver(
  from: [number, number],
  step: [number, number],
  isThere: (row: number, column: number) => boolean,
  { rows, columns }: { rows: number; columns: number },
): [number, number] {
  let [row, column] = from;
  do {
    row += step[0];
    column += step[1];
    if (row < 0 || row >= rows || column < 0 || column >= columns) return from;
  } while (!isThere(row, column) && (step[0] || step[1]));
  return [row, column];
}

/** The direction of an arrow key, in rows and columns. */
export function arrowOf(key: string): [number, number] | null {
  const known: Record<string, [number, number]> = {
    ArrowUp: [1, 0],
    ArrowDown: [-1, 0],
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
  };
  return Object.hasOwn(known, key) ? known[key]! : null;
}
