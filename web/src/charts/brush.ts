/** Choosing a range in a picture: with a mouse, a finger, or the keyboard, whose handles are sliders. */

import { s } from "../shared/dom.js";
import { degree, type MapFrame } from "../shared/ground.js";
import { at, largest, smallest } from "../shared/scales.js";
import type { Held, Spec } from "./charts.js";
import type { Frame } from "./lines.js";
import { placesOf } from "./maps.js";
import { cellOf } from "./questions.js";

/** A range of whole numbers that is being chosen, or none. */
type Range = { from: number; to: number } | null;

export function lineBrush(spec: Spec, frame: Frame, held: Held): SVGElement {
  const last = frame.edges.length - 2;
  let range: Range = held.chosen ? { from: smallest(held.chosen), to: largest(held.chosen) } : null;
  const box = s("rect", { class: "brushed", y: frame.top, height: frame.bottom - frame.top });
  const handles = (["from", "to"] as const).map((end) => {
    const words = (value: number): string => spec.values.labels[value] ?? String(value);
    return handle(end === "from" ? "first" : "last", spec, {
      low: 0,
      high: last,
      get: () => range?.[end] ?? (end === "from" ? 0 : last),
      set: (value, isDone) => {
        const other = end === "from" ? (range?.to ?? last) : (range?.from ?? 0);
        settle(
          end === "from" ? { from: Math.min(value, other), to: other } : { from: other, to: Math.max(value, other) },
          isDone,
        );
      },
      clear: () => settle(null, true),
      words,
    });
  });
  const place = (): void => {
    const { from, to } = range ?? { from: 0, to: last };
    const [left, right] = [frame.x(frame.edges[from]!), frame.x(frame.edges[to + 1]!)];
    set(box, { x: at(left), width: at(right - left), class: range ? "brushed" : "brushed none" });
    handles.forEach((one, index) => {
      set(one, {
        transform: `translate(${at(index === 0 ? left : right)} ${at(frame.bottom + 14)})`,
        class: range ? "handle" : "handle idle",
      });
      const value = index === 0 ? from : to;
      set(one, { "aria-valuenow": value, "aria-valuetext": spec.values.labels[value] ?? String(value + 1) });
    });
  };
  const settle = (wanted: Range, isDone: boolean): void => {
    range = wanted;
    place();
    held.choose(
      wanted
        ? new Set(Array.from({ length: wanted.to - wanted.from + 1 }, (_none, index) => wanted.from + index))
        : null,
      isDone,
    );
  };
  const ground = s("rect", {
    class: "brush-ground",
    x: frame.left,
    y: frame.top,
    width: frame.right - frame.left,
    height: frame.bottom - frame.top,
  });
  const group = s("g", { class: "brush" }, ground, box, ...handles);
  const valueAt = (event: PointerEvent): number => {
    const x = event.clientX - (group.ownerSVGElement?.getBoundingClientRect().left ?? 0);
    const found = frame.edges.findIndex((edge, index) => index > 0 && x < frame.x(edge));
    return found < 0 ? last : Math.max(0, found - 1);
  };
  drag(group, held, valueAt, (begin, end, isDone) =>
    settle(begin === end && isDone ? null : { from: Math.min(begin, end), to: Math.max(begin, end) }, isDone),
  );
  place();
  return group;
}

type Rectangle = { south: number; north: number; west: number; east: number };

/** A rectangle of cells; its four sides are the sliders. The last map, the estimate's, has the handles. */
export function planeBrush(spec: Spec, frames: MapFrame[], held: Held): SVGElement {
  const { rows, columns, cells } = spec.values.plane!;
  const whole: Rectangle = { south: 0, north: rows - 1, west: 0, east: columns - 1 };
  let chosen: Rectangle | null = held.chosen ? around([...held.chosen].map((index) => cells[index]!)) : null;
  const boxes = frames.map(() => s("rect", { class: "brushed" }));
  const sides = ["south", "north", "west", "east"] as const;
  const handles = sides.map((side) => {
    const isRow = side === "south" || side === "north";
    return handle(`${side}ern edge`, spec, {
      low: 0,
      high: (isRow ? rows : columns) - 1,
      get: () => (chosen ?? whole)[side],
      set: (value, isDone) => settle(ordered({ ...(chosen ?? whole), [side]: value }, side), isDone),
      clear: () => settle(null, true),
      words: (value) => edgeWords(spec, side, value),
    });
  });
  const frame = frames.at(-1)!;
  const place = (): void => {
    const { south, north, west, east } = chosen ?? whole;
    frames.forEach((one, index) =>
      set(boxes[index]!, {
        x: at(one.left + west * one.cell.width),
        y: at(one.top + (rows - 1 - north) * one.cell.height),
        width: at((east - west + 1) * one.cell.width),
        height: at((north - south + 1) * one.cell.height),
        class: chosen ? "brushed" : "brushed none",
      }),
    );
    const [x, y] = [(west + east + 1) / 2, rows - (south + north + 1) / 2];
    const points: Record<(typeof sides)[number], [number, number]> = {
      south: [x, rows - south],
      north: [x, rows - 1 - north],
      west: [west, y],
      east: [east + 1, y],
    };
    handles.forEach((one, index) => {
      const side = sides[index]!;
      const [column, row] = points[side];
      set(one, {
        transform: `translate(${at(frame.left + column * frame.cell.width)} ${at(frame.top + row * frame.cell.height)})`,
        class: chosen ? "handle" : "handle idle",
      });
      const value = (chosen ?? whole)[side];
      set(one, { "aria-valuenow": value, "aria-valuetext": edgeWords(spec, side, value) });
    });
  };
  const settle = (wanted: Rectangle | null, isDone: boolean): void => {
    chosen = wanted;
    place();
    held.choose(wanted ? inside(spec, wanted) : null, isDone);
  };
  const grounds = frames.map((one) =>
    s("rect", {
      class: "brush-ground",
      x: at(one.left),
      y: at(one.top),
      width: at(one.cell.width * columns),
      height: at(one.cell.height * rows),
    }),
  );
  const group = s("g", { class: "brush free" }, ...grounds, ...boxes, ...handles);
  const cellAt = (event: PointerEvent): [number, number] => {
    const corner = group.ownerSVGElement?.getBoundingClientRect() ?? { left: 0, top: 0 };
    const [x, y] = [event.clientX - corner.left, event.clientY - corner.top];
    const one =
      frames.find(
        (each) =>
          x >= each.left &&
          x <= each.left + each.cell.width * columns &&
          y >= each.top &&
          y <= each.top + each.cell.height * rows,
      ) ?? frame;
    const clamp = (value: number, most: number): number => Math.max(0, Math.min(most, Math.floor(value)));
    return [
      rows - 1 - clamp((y - one.top) / one.cell.height, rows - 1),
      clamp((x - one.left) / one.cell.width, columns - 1),
    ];
  };
  drag(group, held, cellAt, (begin, end, isDone) =>
    settle(String(begin) === String(end) && isDone ? null : around([begin, end]), isDone),
  );
  place();
  return group;
}

/** Where an edge of the chosen cells stands: by degrees on the Earth, else by row and column. */
function edgeWords(spec: Spec, side: keyof Rectangle, value: number): string {
  const { degrees, rows, columns, cells } = spec.values.plane!;
  const isRow = side === "south" || side === "north";
  if (!degrees)
    return `${isRow ? "row" : "column"} ${value + cellOf(spec.values, 0)[isRow ? 0 : 1] - (cells[0]?.[isRow ? 0 : 1] ?? 0)}`;
  const [low, high, count] = isRow ? [degrees.south, degrees.north, rows] : [degrees.west, degrees.east, columns];
  return degree(low + ((value + (side === "north" || side === "east" ? 1 : 0)) / count) * (high - low), isRow, 3);
}

function around(cells: [number, number][]): Rectangle {
  const [rows, columns] = [cells.map(([row]) => row), cells.map(([, column]) => column)];
  return { south: smallest(rows), north: largest(rows), west: smallest(columns), east: largest(columns) };
}

/** A side that is moved pushes the opposite one. */
function ordered(wanted: Rectangle, moved: keyof Rectangle): Rectangle {
  const found = { ...wanted };
  if (found.south > found.north) found[moved === "south" ? "north" : "south"] = found[moved];
  if (found.west > found.east) found[moved === "west" ? "east" : "west"] = found[moved];
  return found;
}

function inside(spec: Spec, wanted: Rectangle): Set<number> | null {
  const places = placesOf(spec.values);
  const found = new Set<number>();
  for (let row = wanted.south; row <= wanted.north; row++) {
    for (let column = wanted.west; column <= wanted.east; column++) {
      const place = places.get(row * spec.values.plane!.columns + column);
      if (place !== undefined) found.add(place);
    }
  }
  return found.size > 0 ? found : null;
}

/** What a handle moves. */
interface Moved {
  low: number;
  high: number;
  get: () => number;
  set: (value: number, isDone: boolean) => void;
  clear: () => void;
  words: (value: number) => string;
}

/** A handle that is a slider to the keyboard: arrows, pages, home and end; escape chooses nothing. */
function handle(name: string, spec: Spec, moved: Moved): SVGElement {
  const far = Math.max(1, Math.round((moved.high - moved.low) / 10));
  const steps: Record<string, number> = {
    ArrowLeft: -1,
    ArrowDown: -1,
    ArrowRight: 1,
    ArrowUp: 1,
    PageDown: -far,
    PageUp: far,
    Home: -Infinity,
    End: Infinity,
  };
  let isMoved = false;
  return s(
    "g",
    {
      role: "slider",
      tabindex: 0,
      "data-handle": name,
      "aria-label": `${name} ${spec.values.plane ? "of the chosen cells" : `${spec.name ?? "value"} of the chosen range`}`,
      "aria-valuemin": moved.low,
      "aria-valuemax": moved.high,
      onkeydown: (event: KeyboardEvent) => {
        if (event.key === "Escape") return moved.clear();
        const step = steps[event.key];
        if (step === undefined) return;
        event.preventDefault();
        isMoved = true;
        moved.set(Math.max(moved.low, Math.min(moved.high, moved.get() + step)), false);
      },
      // The keys that were held are let go: only now is the range asked for.
      onkeyup: () => {
        if (!isMoved) return;
        isMoved = false;
        moved.set(moved.get(), true);
      },
    },
    s("rect", { x: -5, y: -11, width: 10, height: 22, rx: 4 }),
    s("path", { d: "M0 -5V5" }),
  );
}

function set(element: SVGElement, attributes: Record<string, string | number>): void {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
}

/** Follow a pointer from where it is pressed to where it is let go. */
function drag<P>(
  group: SVGElement,
  held: Held,
  find: (event: PointerEvent) => P,
  move: (begin: P, end: P, isDone: boolean) => void,
): void {
  let begin: P | null = null;
  group.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    begin = find(event);
    held.isHeld = true;
    group.setPointerCapture(event.pointerId);
  });
  group.addEventListener("pointermove", (event) => {
    if (begin !== null) move(begin, find(event), false);
  });
  const finish = (event: PointerEvent): void => {
    if (begin === null) return;
    const from = begin;
    begin = null;
    held.isHeld = false;
    move(from, find(event), true);
  };
  group.addEventListener("pointerup", finish);
  group.addEventListener("pointercancel", finish);
}
