/** The map that a person answers on: cells as wide as they are on the ground, where they lie, and how far a kilometre is. */
import type { AlphabetTable } from "../shared/api.js";
import { s } from "../shared/dom.js";
import {
  BAR,
  cellSize,
  columnWords,
  corner,
  type Ground,
  type MapFrame,
  rowWords,
  scaleBar,
  UNDER,
} from "../shared/ground.js";
import { boxOf, listOf, numberOf, textOf } from "../shared/tables.js";

const WIDTH = 320;
const TALLEST = 400;
const TOP = 6;
// As wide as a phone: letters of 13 are still 12 on the narrowest.
const LETTERS = 13;
const MOST_LINES = 120;

export interface CellMap {
  svg: SVGSVGElement;
  frame: MapFrame;
  /** The cells without what stands beside them: where a press is. */
  ground: SVGElement;
  /** A place in the unit square, from the upper left. */
  point(place: [number, number]): { cx: number; cy: number };
}

export function groundOf(alphabet: AlphabetTable): Ground {
  const [south, north, west, east] = ["south", "north", "west", "east"].map((key) => numberOf(alphabet, key, 0)) as [
    number,
    number,
    number,
    number,
  ];
  const degrees = alphabet.kind === "places" ? { south, north, west, east } : null;
  return {
    ...boxOf(alphabet),
    degrees,
    spacing: numberOf(alphabet, "spacing", 1),
    unit: textOf(alphabet, "unit", "") || null,
  };
}

/** Cells in which nobody is asked, as "row column" from the first ones on. */
export function holesOf(alphabet: AlphabetTable): Set<string> {
  const { first } = boxOf(alphabet);
  return new Set(
    listOf(alphabet, "holes").map((one) =>
      Array.isArray(one) ? `${Number(one[0]) - first[0]} ${Number(one[1]) - first[1]}` : "",
    ),
  );
}

export function cellMap(alphabet: AlphabetTable): CellMap {
  const land = groundOf(alphabet);
  const { rows, columns } = land;
  const atLeft = rowWords(land, LETTERS);
  const left = atLeft.width + 9;
  const cell = cellSize(land, { width: WIDTH - left - 2, height: TALLEST });
  const frame: MapFrame = { left, top: TOP, cell, rows, columns };
  const [across, down] = [columns * cell.width, rows * cell.height];
  const ground = s("rect", { class: "ground", x: left, y: TOP, width: across, height: down });
  const lines: string[] = [];
  if (rows <= MOST_LINES)
    for (let row = 1; row < rows; row++) lines.push(`M${left} ${TOP + row * cell.height}h${across}`);
  if (columns <= MOST_LINES)
    for (let column = 1; column < columns; column++) lines.push(`M${left + column * cell.width} ${TOP}v${down}`);
  const hidden = [...holesOf(alphabet)]
    .map((one) => one.split(" ").map(Number))
    .map(
      ([row, column]) =>
        `M${corner(frame, row ?? 0, column ?? 0).join(" ")}h${cell.width}v${cell.height}h${-cell.width}z`,
    );
  const bar = scaleBar(land, frame, { x: left, y: TOP + down + UNDER + 14 });
  const whole = {
    width: Math.max(left + across + 2, left + 190),
    height: TOP + down + UNDER + (bar.length > 0 ? BAR : 0),
  };
  const svg = s(
    "svg",
    { viewBox: `0 0 ${whole.width} ${whole.height}`, width: whole.width, height: whole.height, "aria-hidden": "true" },
    ground,
    s("path", { class: "lines", d: lines.join("") }),
    s("path", { class: "holes", d: hidden.join("") }),
    ...atLeft.draw(frame),
    ...columnWords(land, frame, LETTERS),
    ...bar,
  );
  return { svg, frame, ground, point: ([x, y]) => ({ cx: left + x * across, cy: TOP + y * down }) };
}
