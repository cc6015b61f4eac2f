/** What a person answers with: an input for each kind of values. */
import type { AlphabetTable } from "../shared/api.js";
import { h, put, s } from "../shared/dom.js";
import { arrowOf, corner, stepOver } from "../shared/ground.js";
import {
  attributesOf,
  boxOf,
  cellInWords,
  cornersInWords,
  middleOf,
  numberOf,
  type Place,
  placeInWords,
  type Row,
  rowOf,
  textOf,
  withUnit,
} from "../shared/tables.js";
import { language, t } from "../shared/texts.js";
import { cellMap, holesOf } from "./cellmap.js";

export interface Field {
  element: HTMLElement;
  /** What the person has, as the client's `take` reads it; undefined while nothing was chosen. */
  raw(): unknown;
  /** The same as a person says it. */
  words(): string;
  /** Where it lies in the unit square, to be shown beside a report; null where values lie nowhere. */
  place(): Place | null;
}

const FEW = 7;
const SEVERAL = 14;

/** The input that suits the values; `changed` is called with every change. */
export function fieldFor(alphabet: AlphabetTable, name: string, changed: () => void): Field {
  if (alphabet.kind === "attributes") return attributesField(alphabet, changed);
  if (alphabet.kind === "grid" || alphabet.kind === "places") return mapField(alphabet, name, changed);
  if (alphabet.kind === "coordinates" || alphabet.kind === "lattice") return pairField(alphabet, name, changed);
  if (alphabet.kind === "dates" && !["quarter", "year"].includes(textOf(alphabet, "every", "day")))
    return dateField(alphabet, name, changed);
  const row = rowOf(alphabet);
  if (row === null) return textField(alphabet, name, changed);
  const isLine = !["categories", "weekdays"].includes(alphabet.kind);
  if (row.size > FEW && isLine) return sliderField(alphabet, row, name, changed);
  return row.size > SEVERAL ? selectField(row, name, changed) : radioField(row, name, changed);
}

// The inputs themselves. Nothing that was typed is kept by the browser: autocomplete is off everywhere.

function sliderField(alphabet: AlphabetTable, row: Row, name: string, changed: () => void): Field {
  let index: number | null = null;
  const unset = t("unset");
  const shown = h("output", { class: "chosen none", "aria-hidden": "true" }, unset);
  const slider = h("input", {
    type: "range",
    min: 0,
    max: row.size - 1,
    step: 1,
    value: Math.floor((row.size - 1) / 2),
    autocomplete: "off",
    class: "unset",
    "aria-label": name,
    "aria-valuetext": unset,
  });
  const { typed } = row;
  const number =
    typed &&
    h("input", {
      type: typed.type,
      step: typed.step,
      min: typed.min,
      max: typed.max,
      autocomplete: "off",
      inputmode: typed.type === "number" ? (typed.step === "1" ? "numeric" : "decimal") : undefined,
      placeholder:
        typed.type === "number" && typed.min !== undefined && typed.max !== undefined
          ? t("from.to", { low: typed.min, high: typed.max })
          : undefined,
      "aria-label": t("typed", { name }),
      class: "typed",
    });
  const choose = (found: number): void => {
    const isThere = Number.isInteger(found) && found >= 0 && found < row.size;
    index = isThere ? found : null;
    put(
      shown,
      isThere
        ? row.label(found)
        : number?.value
          ? t("between", { low: row.label(0), high: row.label(row.size - 1) })
          : unset,
    );
    shown.classList.toggle("none", !isThere);
    slider.setAttribute("aria-valuetext", isThere ? row.label(found) : unset);
    slider.classList.toggle("unset", !isThere);
    if (isThere) slider.value = String(found);
    changed();
  };
  const bySlider = (): void => {
    choose(Number(slider.value));
    if (number && typed?.type === "number")
      number.value = alphabet.kind === "bins" ? "" : String(row.raw(Number(slider.value)));
    if (number && typed?.type === "time") number.value = row.label(Number(slider.value));
  };
  slider.addEventListener("input", bySlider);
  // A press on the middle, where it stands already, is an answer too.
  slider.addEventListener("pointerup", bySlider);
  number?.addEventListener("input", () => choose(typed!.index(number.value)));
  const ends = h(
    "div",
    { class: "ends", "aria-hidden": "true" },
    h("span", {}, row.label(0)),
    h("span", {}, row.label(row.size - 1)),
  );
  return {
    element: h("div", { class: "field slider" }, h("div", { class: "chosen-row" }, shown, number), slider, ends),
    raw: () => (index === null ? undefined : row.raw(index)),
    words: () => (index === null ? "" : row.label(index)),
    place: () => (index === null || row.size < 2 ? null : [index / (row.size - 1), 0.5]),
  };
}

let fields = 0;

function radioField(row: Row, name: string, changed: () => void): Field {
  const group = `answer-${fields++}`;
  const buttons = Array.from({ length: row.size }, (_, index) =>
    h("input", { type: "radio", name: group, value: String(index), autocomplete: "off", onchange: changed }),
  );
  const labels = buttons.map((button, index) =>
    h("label", { class: "choice" }, button, h("span", {}, row.label(index))),
  );
  const found = (): number => buttons.findIndex((button) => button.checked);
  return {
    element: h("fieldset", { class: "field choices" }, h("legend", { class: "unseen" }, name), ...labels),
    raw: () => (found() < 0 ? undefined : row.raw(found())),
    words: () => (found() < 0 ? "" : row.label(found())),
    place: () => null,
  };
}

function selectField(row: Row, name: string, changed: () => void): Field {
  const options = Array.from({ length: row.size }, (_, index) => h("option", { value: index }, row.label(index)));
  const select = h(
    "select",
    { "aria-label": name, autocomplete: "off", onchange: changed },
    h("option", { value: "", selected: true }, t("choose")),
    ...options,
  );
  return {
    element: h("div", { class: "field" }, select),
    raw: () => (select.value === "" ? undefined : row.raw(Number(select.value))),
    words: () => (select.value === "" ? "" : row.label(Number(select.value))),
    place: () => null,
  };
}

function textField(alphabet: AlphabetTable, name: string, changed: () => void): Field {
  const isNumber = alphabet.kind === "integers";
  const input = h("input", {
    type: isNumber ? "number" : "text",
    step: "1",
    "aria-label": name,
    autocomplete: "off",
    oninput: changed,
  });
  const words = (): string => (isNumber ? withUnit(alphabet, input.value) : input.value);
  return {
    element: h("div", { class: "field" }, input),
    raw: () => input.value.trim() || undefined,
    words,
    place: () => null,
  };
}

function dateField(alphabet: AlphabetTable, name: string, changed: () => void): Field {
  const every = textOf(alphabet, "every", "day");
  const bound = (key: string): string | undefined =>
    /^\d{4}-\d\d-\d\d$/.test(textOf(alphabet, key, "")) ? textOf(alphabet, key, "") : undefined;
  const input = h("input", {
    type: "date",
    "aria-label": name,
    min: bound("first"),
    max: bound("last"),
    autocomplete: "off",
    oninput: changed,
  });
  const remark = every === "day" ? false : h("p", { class: "note" }, t("any.day", { every: periodWords(every) }));
  return {
    element: h("div", { class: "field" }, input, remark),
    raw: () => input.value || undefined,
    words: () => input.value,
    place: () => null,
  };
}

/** A week, a month: in the language that is spoken. */
function periodWords(every: string): string {
  return new Intl.DisplayNames(language(), { type: "dateTimeField" }).of(every) ?? every;
}

/** Two numbers, and the place where the person is. */
function pairField(alphabet: AlphabetTable, name: string, changed: () => void): Field {
  const isEarth = alphabet.kind === "coordinates";
  const names = isEarth ? [t("latitude"), t("longitude")] : [t("row"), t("column")];
  const inputs = names.map((one) =>
    h("input", {
      type: "number",
      step: isEarth ? "any" : "1",
      "aria-label": `${name}: ${one}`,
      autocomplete: "off",
      oninput: changed,
    }),
  );
  const labels = inputs.map((input, index) => h("label", {}, names[index], input));
  const here =
    isEarth &&
    whereIAm((found) => {
      [found.latitude, found.longitude].forEach((degree, index) => (inputs[index]!.value = degree.toFixed(5)));
      changed();
    });
  const raw = (): string[] | undefined =>
    inputs.every((input) => input.value.trim()) ? inputs.map((input) => input.value) : undefined;
  return {
    element: h("div", { class: "field pair" }, ...labels, here),
    raw,
    words: () => (raw() ?? []).join(", "),
    place: () => null,
  };
}

/** Asks where the person is, when pressed and not before; what is found stays in this page. */
function whereIAm(found: (position: { latitude: number; longitude: number }) => void): HTMLElement {
  const said = h("p", { class: "note", role: "status" }, t("here.note"));
  const button = h("button", { type: "button", class: "quiet" }, t("here"));
  button.addEventListener("click", () => {
    if (!("geolocation" in navigator)) return put(said, t("here.no"));
    put(said, t("here.asking"));
    navigator.geolocation.getCurrentPosition(
      ({ coords: { latitude, longitude } }) => {
        put(said, t("here.found"));
        found({ latitude, longitude });
      },
      () => put(said, t("here.silent")),
      { timeout: 15000, maximumAge: 600000 },
    );
  });
  return h("div", { class: "here" }, button, said);
}

/** A map of cells: pressed, moved on by the arrow keys, or found by the device. */
function mapField(alphabet: AlphabetTable, name: string, changed: () => void): Field {
  const { rows, columns, first } = boxOf(alphabet);
  const isEarth = alphabet.kind === "places";
  const holes = holesOf(alphabet);
  let cell: [number, number] | null = null;
  const map = cellMap(alphabet);
  const mark = s("rect", { class: "own", ...map.frame.cell, visibility: "hidden" });
  map.svg.append(mark);
  const shown = h("output", { class: "chosen none" }, t("press"));
  const said = h("p", { class: "note", role: "alert" });
  const words = (): string =>
    cell
      ? isEarth
        ? placeInWords(alphabet, cell[0], cell[1])
        : cellInWords(alphabet, cell[0] + first[0], cell[1] + first[1])
      : "";
  const choose = (row: number, column: number): void => {
    if (row < 0 || row >= rows || column < 0 || column >= columns) return put(said, t("outside"));
    if (holes.has(`${row} ${column}`)) return put(said, t("hole"));
    put(said);
    cell = [row, column];
    const [x, y] = corner(map.frame, row, column);
    mark.setAttribute("x", String(x));
    mark.setAttribute("y", String(y));
    mark.setAttribute("visibility", "visible");
    put(shown, words());
    shown.classList.remove("none");
    changed();
  };
  const frame = h(
    "div",
    {
      class: "map",
      tabindex: 0,
      role: "application",
      "aria-label": t("map", { name, rows, columns }),
    },
    map.svg,
  );
  frame.addEventListener("pointerdown", (event) => {
    const { left, top, width, height } = map.ground.getBoundingClientRect();
    // Beside the cells are words: a press on them is no answer.
    if (event.clientX < left || event.clientX >= left + width || event.clientY < top || event.clientY >= top + height)
      return;
    choose(
      rows - 1 - Math.floor(((event.clientY - top) / height) * rows),
      Math.floor(((event.clientX - left) / width) * columns),
    );
  });
  frame.addEventListener("keydown", (event) => {
    const step = arrowOf(event.key);
    if (!step) return;
    event.preventDefault();
    const from = cell ?? [Math.floor(rows / 2), Math.floor(columns / 2)];
    choose(...stepOver(from, cell ? step : [0, 0], (row, column) => !holes.has(`${row} ${column}`), { rows, columns }));
  });
  const cellAt = ({ latitude, longitude }: { latitude: number; longitude: number }): void => {
    const [south, north, west, east] = ["south", "north", "west", "east"].map((key) => numberOf(alphabet, key, 0)) as [
      number,
      number,
      number,
      number,
    ];
    choose(
      Math.floor(((latitude - south) / (north - south)) * rows),
      Math.floor(((longitude - west) / (east - west)) * columns),
    );
  };
  return {
    element: h(
      "div",
      { class: "field" },
      h("div", { class: "chosen-row" }, shown),
      frame,
      isEarth && h("p", { class: "note" }, cornersInWords(alphabet)),
      said,
      isEarth && whereIAm(cellAt),
    ),
    raw: () =>
      cell === null
        ? undefined
        : isEarth
          ? Object.values(middleOf(alphabet, ...cell))
          : [cell[0] + first[0], cell[1] + first[1]],
    words,
    place: () => (cell ? [(cell[1] + 0.5) / columns, 1 - (cell[0] + 0.5) / rows] : null),
  };
}

function attributesField(alphabet: AlphabetTable, changed: () => void): Field {
  const parts = attributesOf(alphabet).map(({ name, alphabet: own }) => ({
    name,
    field: fieldFor(own, name, changed),
  }));
  const sections = parts.map(({ name, field }, index) =>
    h("section", { class: "attribute" }, h("h3", {}, `${index + 1}. `, h("bdi", {}, name)), field.element),
  );
  const isWhole = (): boolean => parts.every(({ field }) => field.raw() !== undefined);
  return {
    element: h("div", { class: "field" }, ...sections),
    raw: () => (isWhole() ? Object.fromEntries(parts.map(({ name, field }) => [name, field.raw()])) : undefined),
    words: () => parts.map(({ name, field }) => `${name}: ${field.words()}`).join("; "),
    place: () => null,
  };
}
