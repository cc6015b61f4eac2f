/** What was brushed in a picture as the question that a person would type. */
import type { Values } from "../shared/api.js";
import { degree } from "../shared/ground.js";

/** The question for these positions, or null where none can be written. */
export function questionOf(values: Values, name: string, indices: number[]): string | null {
  const called = /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) ? name : "value";
  const [first, last] = [indices[0], indices.at(-1)];
  if (first === undefined || last === undefined || values.kind === "attributes") return null;
  if (values.plane) return boxOf(values, indices);
  const labels = indices.map((index) => values.labels[index] ?? "");
  if (values.kind === "bins") return amounts(called, values.labels[first] ?? "", values.labels[last] ?? "");
  if (values.positions && ["integers", "dates", "hours", "circle"].includes(values.kind)) {
    const [from, to] = [labels[0], labels.at(-1)].map((label) => (label ?? "").replaceAll(",", ""));
    if (first === 0 && values.kind !== "hours" && values.kind !== "circle") return `${called} <= ${to}`;
    if (last === values.size - 1 && values.kind !== "hours" && values.kind !== "circle") return `${called} >= ${from}`;
    return `${called} in ${from}..${to}`;
  }
  const quoted = labels.map(quote);
  return quoted.includes(null) ? null : `${called} in {${quoted.join(", ")}}`;
}

function quote(label: string): string | null {
  if (!label.includes('"')) return `"${label}"`;
  return label.includes("'") ? null : `'${label}'`;
}

/** Bins are asked for by their edges. */
function amounts(name: string, first: string, last: string): string | null {
  const number = "-?[\\d.]+(?:e[+-]?\\d+)?";
  const from = new RegExp(`^(${number})`).exec(first)?.[1];
  const to = new RegExp(`to (${number})`).exec(last)?.[1];
  const parts = [
    ...(from === undefined ? [] : [`${name} >= ${from}`]),
    ...(to === undefined ? [] : [`${name} < ${to}`]),
  ];
  return parts.length ? parts.join(" and ") : null;
}

function boxOf(values: Values, indices: number[]): string {
  const cells = indices.map((index) => cellOf(values, index));
  const [rows, columns] = [0, 1].map((axis) => cells.map((cell) => cell[axis]!)) as [number[], number[]];
  return `cell in (${Math.min(...rows)}, ${Math.min(...columns)})..(${Math.max(...rows)}, ${Math.max(...columns)})`;
}

/** What a box of cells is on the ground: "from 48.850° N, 2.330° E to 48.870° N, 2.360° E"; empty of any other question. */
export function boxWords(values: Values, query: string): string {
  const found = /^cell in \((-?\d+), (-?\d+)\)\.\.\((-?\d+), (-?\d+)\)$/.exec(query);
  if (!found || !values.plane) return "";
  const [south, west, north, east] = found.slice(1).map(Number) as [number, number, number, number];
  const { degrees, rows, columns } = values.plane;
  if (!degrees) return `rows ${south} to ${north}, columns ${west} to ${east}`;
  const place = (row: number, column: number): string =>
    `${degree(degrees.south + (row / rows) * (degrees.north - degrees.south), true, 3)}, ${degree(degrees.west + (column / columns) * (degrees.east - degrees.west), false, 3)}`;
  return `the box from ${place(south, west)} to ${place(north + 1, east + 1)}`;
}

/** Row and column as the survey counts them, which need not begin at 0: its label says them. */
export function cellOf(values: Values, index: number): [number, number] {
  const found = values.kind === "grid" ? /(-?\d+)\D+?(-?\d+)/.exec(values.labels[index] ?? "") : null;
  return found ? [Number(found[1]), Number(found[2])] : (values.plane?.cells[index] ?? [0, 0]);
}

/** A circle around the middle of a map of the Earth, a quarter of its height: as people ask of places. */
export function circleOf(values: Values): string | null {
  const degrees = values.plane?.degrees;
  if (!degrees) return null;
  const { south, north, west, east } = degrees;
  const far = ((north - south) * 111) / 4;
  const power = 10 ** Math.floor(Math.log10(far));
  const round = Math.max(1, Math.round(far / power)) * power;
  const digits = Math.max(0, Math.min(5, Math.ceil(-Math.log10((north - south) / 10))));
  return `within ${Number(round.toPrecision(3))} km of ${((south + north) / 2).toFixed(digits)}, ${((west + east) / 2).toFixed(digits)}`;
}
