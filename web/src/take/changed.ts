/** How often and how far chance changes an answer: in words and a picture, for the person whose answer it is. */
import { simulatedSurvey } from "/client/confide.js";
import type { AlphabetTable } from "../shared/api.js";
import { h, s } from "../shared/dom.js";
import { distanceWords } from "../shared/ground.js";
import { number } from "../shared/scales.js";
import { numberOf, textOf, withUnit } from "../shared/tables.js";
import { t } from "../shared/texts.js";

/** Answers that are tried, spread over all there are, and reports of each. */
const TRIED = 20;
const REPORTS = 50;

interface Document {
  alphabet: AlphabetTable;
  mechanism: { kind: string; epsilon?: number };
}

/** What chance does to answers. */
export interface Changes {
  /** "About 21% of reports differ from the answer, half of these by 3 years or more". */
  words: string;
  /** The same before anything was answered: "About 1 in 5 answers is changed at random, on your phone." */
  explained: string;
  /** What follows from it for this person. */
  nobody: string;
  picture: SVGSVGElement;
}

interface Measured {
  /** How many reports differ from the answer. */
  share: number;
  /** How far half of these lie away at least, and half of all, in steps; NaN where nothing is far from anything. */
  half: number;
  halfOfAll: number;
  /** How many marks a report has, and how many of them are switched; 0 where it has none. */
  marks: number;
  switched: number;
}

export function changesOf(text: string): Changes {
  const { alphabet, mechanism } = JSON.parse(text) as Document;
  const found = measured(text, alphabet, mechanism);
  const half = Number.isFinite(found.half) ? lengthOf(alphabet, found.half) : "";
  const differ = differing(found.share);
  // Where most reports move, how far is what matters.
  const isFar = found.halfOfAll > 0;
  const isPlace = ["grid", "places", "lattice", "coordinates"].includes(alphabet.kind);
  return {
    words: half ? t("differ.half", { changes: differ, length: half }) : differ,
    explained: isFar
      ? t(isPlace ? "explain.place" : "explain.number", { length: lengthOf(alphabet, found.halfOfAll) })
      : changedWords(found),
    nobody: t(isFar ? "explain.nobody.far" : "explain.nobody"),
    picture: isFar ? (isPlace ? circle() : spread()) : crowd(found.marks ? found.switched : found.share),
  };
}

function measured(text: string, alphabet: AlphabetTable, mechanism: Document["mechanism"]): Measured {
  const survey = simulatedSurvey(text, octets());
  const values = survey.choices().map(({ value }) => value);
  const none = { half: NaN, halfOfAll: NaN, marks: 0, switched: 0 };
  if (!values.length) return { ...none, share: 1 };
  if (mechanism.kind === "randomized-response" && mechanism.epsilon !== undefined)
    return { ...none, share: (values.length - 1) / (Math.exp(mechanism.epsilon) + values.length - 1) };
  const tried = Array.from(
    { length: TRIED },
    (_, index) => values[Math.floor(((index + 0.5) * values.length) / TRIED)]!,
  );
  const areMarks = (data: unknown): data is string =>
    typeof data === "string" &&
    /^[01]+$/.test(data) &&
    data.length === values.length &&
    !values.includes(data as (typeof values)[number]);
  const isSame = (value: (typeof values)[number], data: unknown): boolean =>
    // A report of marks is the answer where it has the answer's mark alone.
    areMarks(data)
      ? data.indexOf("1") === values.indexOf(value) && data.lastIndexOf("1") === data.indexOf("1")
      : JSON.stringify(data) === JSON.stringify(value);
  const pairs = tried.flatMap((value) =>
    Array.from({ length: REPORTS }, () => ({ value, data: survey.blur(value).data })),
  );
  const changed = pairs.filter(({ value, data }) => !isSame(value, data));
  const half = (some: typeof pairs): number => {
    const far = some.map(({ value, data }) => distance(alphabet, value, data)).sort((one, other) => one - other);
    return far[Math.floor(far.length / 2)] ?? NaN;
  };
  const switched = pairs.reduce(
    (sum, { value, data }) => sum + (areMarks(data) ? switchedIn(data, values.indexOf(value)) : 0),
    0,
  );
  const marks = areMarks(pairs[0]?.data) ? values.length : 0;
  return {
    share: changed.length / pairs.length,
    half: half(changed),
    halfOfAll: half(pairs),
    marks,
    switched: marks && switched / pairs.length / marks,
  };
}

/** How many marks differ from those of the answer, which has one. */
function switchedIn(marks: string, own: number): number {
  return [...marks].filter((mark, index) => (mark === "1") !== (index === own)).length;
}

function differing(share: number): string {
  return share > 0.95
    ? t("differ.most")
    : share < 0.01
      ? t("differ.few")
      : t("differ.some", { percent: Math.round(100 * share) });
}

/** "About 1 in 5 answers is changed"; of marks any that was switched makes another report. */
function changedWords({ share, marks, switched }: Measured): string {
  if (share > 0.95 && !marks) return t("explain.most");
  const [k, n] = fraction(marks ? switched : share);
  return t(marks ? "explain.marks" : "explain.share", { k, n, marks, one: k });
}

/** A share as people say it: 1 in 5, 2 in 3; at most a tenth of it off, with the smallest number of people. */
export function fraction(share: number): [number, number] {
  for (let n = 2; n < 100; n++) {
    const k = Math.round(share * n);
    if (k > 0 && k < n && Math.abs(k / n - share) <= 0.07 * Math.min(share, 1 - share)) return [k, n];
  }
  return [Math.max(1, Math.round(100 * share)), 100];
}

// Pictures: of no answer, and of no person.

/** Ten people in a row, of whom so many have another colour than their own. */
function crowd(share: number): SVGSVGElement {
  const changed = Math.min(10, Math.max(share > 0 ? 1 : 0, Math.round(10 * share)));
  const people = Array.from({ length: 10 }, (_, index) => {
    // Spread over the row, so that nobody looks chosen by place.
    const isChanged = Math.floor(((index + 1) * changed) / 10) > Math.floor((index * changed) / 10);
    const x = 18 + index * 31.5;
    return s(
      "g",
      { class: isChanged ? "person changed" : "person" },
      s("circle", { cx: x, cy: 14, r: 7 }),
      s("path", { d: `M${x - 11} 44v-8a11 11 0 0 1 22 0v8z` }),
    );
  });
  return s("svg", { viewBox: "0 0 320 50", "aria-hidden": "true" }, ...people);
}

/** Reports around an answer on a line: most near, some far. */
function spread(): SVGSVGElement {
  const heights = Array.from({ length: 41 }, (_, index) => 34 * Math.exp(-Math.abs(index - 20) / 7));
  const bars = heights.map((height, index) =>
    s("rect", { class: "noisy-bar", x: 8 + index * 7.5, y: 40 - height, width: 5, height }),
  );
  return s(
    "svg",
    { viewBox: "0 0 320 50", "aria-hidden": "true" },
    ...bars,
    s("circle", { class: "own", cx: 160.5, cy: 44, r: 5 }),
  );
}

/** Reports around a place. */
function circle(): SVGSVGElement {
  const draw = octets();
  const dots = Array.from({ length: 60 }, () => {
    const [turn, far] = [(draw() / 256) * 2 * Math.PI, -24 * Math.log((draw() + 1) / 257)];
    return s("circle", {
      class: "noisy-dot",
      cx: 160 + 2 * far * Math.cos(turn),
      cy: 45 + 0.8 * far * Math.sin(turn),
      r: 2.5,
    });
  });
  return s(
    "svg",
    { viewBox: "0 0 320 90", "aria-hidden": "true" },
    ...dots,
    s("circle", { class: "own", cx: 160, cy: 45, r: 6 }),
  );
}

/** The picture and its sentences, before anything is answered. */
export function explanation({ explained, nobody, picture }: Changes, isPublic: boolean): HTMLElement {
  return h(
    "figure",
    { class: "explained", "aria-label": t("explain.title") },
    picture,
    h(
      "figcaption",
      {},
      h("strong", {}, explained),
      ` ${nobody} `,
      h("span", { class: "note" }, t(isPublic ? "explain.public" : "explain.curator")),
    ),
  );
}

/** How far a report lies from the answer, in steps; NaN where nothing is far from anything. */
function distance({ kind }: AlphabetTable, value: unknown, data: unknown): number {
  if (Array.isArray(value) && Array.isArray(data))
    return ["grid", "places"].includes(kind)
      ? Math.hypot(Number(data[0]) - Number(value[0]), Number(data[1]) - Number(value[1]))
      : NaN;
  return kind === "integers" ? Math.abs(Number(data) - Number(value)) : NaN;
}

function lengthOf(alphabet: AlphabetTable, steps: number): string {
  const length = steps * numberOf(alphabet, "spacing", 1);
  return alphabet.kind === "integers"
    ? withUnit(alphabet, number(length))
    : distanceWords(length, textOf(alphabet, "unit", alphabet.kind === "places" ? "km" : "cells"));
}

/** Bytes that are the same for everybody, so that a survey is described in the same words on every phone. */
function octets(): () => number {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 24;
  };
}
