/** The map that a person answers on: cells as wide as they are on the ground, and where they lie. */
import type { AlphabetTable } from "./api.js";
import { s } from "./dom.js";
import { cellRatio, edgeTicks, widthOf, type Degrees } from "./scales.js";
import { boxOf, listOf, numberOf } from "./tables.js";

const WIDTH = 320;
const TALLEST = 400;
const LETTERS = 11;
const UNDER = 18;
const MOST_LINES = 120;

export interface CellMap {
  svg: SVGSVGElement;
  /** The cells without what stands beside them: where a press is. */
  ground: SVGElement;
  cell: { width: number; height: number };
  /** The upper left corner of a cell; rows are counted from the south. */
  corner(row: number, column: number): { x: number; y: number };
  /** A place in the unit square, from the upper left. */
  point(place: [number, number]): { cx: number; cy: number };
}

/** Degrees of a map of the Earth; null of any other. */
export function degreesOf(alphabet: AlphabetTable): Degrees | null {
  if (alphabet.kind !== "places") return null;
  const [south, north, west, east] = ["south", "north", "west", "east"].map((key) => numberOf(alphabet, key, 0)) as [number, number, number, number];
  return { south, north, west, east };
}

/** Cells in which nobody is asked, as "row column" from the first ones on. */
export function holesOf(alphabet: AlphabetTable): Set<string> {
  const { first } = boxOf(alphabet);
  return new Set(listOf(alphabet, "holes").map((one) => (Array.isArray(one) ? `${Number(one[0]) - first[0]} ${Number(one[1]) - first[1]}` : "")));
}

export function cellMap(alphabet: AlphabetTable): CellMap {
  const { rows, columns, first } = boxOf(alphabet);
  const degrees = degreesOf(alphabet);
  const rowTicks = edgeTicks(degrees, rows, first[0], 4, true);
  const left = Math.ceil(Math.max(...rowTicks.map(({ label }) => widthOf(label, LETTERS)), 0)) + 6;
  const ratio = cellRatio(degrees, rows, columns);
  const width = Math.min((WIDTH - left - 2) / columns, TALLEST / rows / ratio);
  const cell = { width, height: width * ratio };
  const [across, down] = [columns * cell.width, rows * cell.height];
  const corner = (row: number, column: number): { x: number; y: number } => ({ x: left + column * cell.width, y: 6 + (rows - 1 - row) * cell.height });
  const ground = s("rect", { class: "ground", x: left, y: 6, width: across, height: down });
  const lines: string[] = [];
  if (rows <= MOST_LINES) for (let row = 0; row <= rows; row++) lines.push(`M${left} ${6 + row * cell.height}h${across}`);
  if (columns <= MOST_LINES) for (let column = 0; column <= columns; column++) lines.push(`M${left + column * cell.width} 6v${down}`);
  const hidden = [...holesOf(alphabet)].map((one) => one.split(" ").map(Number)).map(([row, column]) => corner(row ?? 0, column ?? 0)).map(({ x, y }) => `M${x} ${y}h${cell.width}v${cell.height}h${-cell.width}z`);
  const most = Math.max(1, Math.floor(across / 100));
  const words = [
    ...rowTicks.map(({ position, label }) => s("text", { class: "degrees", x: left - 5, y: 6 + down - position * cell.height, dy: "0.34em", "text-anchor": "end" }, label)),
    ...edgeTicks(degrees, columns, first[1], most, false).map(({ position, label }) => {
      const half = widthOf(label, LETTERS) / 2;
      return s("text", { class: "degrees", x: Math.min(Math.max(left + position * cell.width, left + half), Math.max(left + across - half, left + half)), y: down + 19, "text-anchor": "middle" }, label);
    }),
  ];
  const whole = { width: Math.max(left + across + 2, left + 80), height: down + 6 + UNDER };
  const svg = s("svg", { viewBox: `0 0 ${whole.width} ${whole.height}`, width: whole.width, height: whole.height, "aria-hidden": "true" },
    ground, s("path", { class: "lines", d: lines.join("") }), s("path", { class: "holes", d: hidden.join("") }), ...words);
  return { svg, ground, cell, corner, point: ([x, y]) => ({ cx: left + x * across, cy: 6 + y * down }) };
}
