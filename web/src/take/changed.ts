/** How often and how far chance changes an answer: in words, for the person whose answer it is. */
import { simulatedSurvey } from "/client/confide.js";
import type { AlphabetTable } from "../shared/api.js";
import { distanceWords } from "../shared/ground.js";
import { number } from "../shared/scales.js";
import { numberOf, textOf, withUnit } from "../shared/tables.js";

/** Answers that are tried, spread over all there are, and reports of each. */
const TRIED = 20;
const REPORTS = 50;

interface Document {
  alphabet: AlphabetTable;
  mechanism: { kind: string; epsilon?: number };
}

/** What chance does to answers, such as "About 21% of reports differ from the answer". */
export function changesOf(text: string): string {
  const { alphabet, mechanism } = JSON.parse(text) as Document;
  const survey = simulatedSurvey(text, octets());
  const values = survey.choices().map(({ value }) => value);
  if (!values.length) return "Almost every report differs from the answer";
  if (mechanism.kind === "randomized-response" && mechanism.epsilon !== undefined) {
    return told((values.length - 1) / (Math.exp(mechanism.epsilon) + values.length - 1));
  }
  const tried = Array.from(
    { length: TRIED },
    (_, index) => values[Math.floor(((index + 0.5) * values.length) / TRIED)]!,
  );
  const isSame = (value: (typeof values)[number], data: unknown): boolean => {
    const isMarks =
      typeof data === "string" && /^[01]+$/.test(data) && data.length === values.length && !values.includes(data);
    // A report of marks is the answer where it has the answer's mark alone.
    return isMarks
      ? data.indexOf("1") === values.indexOf(value) && data.lastIndexOf("1") === data.indexOf("1")
      : JSON.stringify(data) === JSON.stringify(value);
  };
  const pairs = tried.flatMap((value) =>
    Array.from({ length: REPORTS }, () => ({ value, data: survey.blur(value).data })),
  );
  const changed = pairs.filter(({ value, data }) => !isSame(value, data));
  const far = changed.map(({ value, data }) => distance(alphabet, value, data)).sort((one, other) => one - other);
  const half = far[Math.floor(far.length / 2)] ?? NaN;
  return (
    told(changed.length / pairs.length) +
    (Number.isFinite(half) ? `, half of these by ${lengthOf(alphabet, half)} or more` : "")
  );
}

function told(share: number): string {
  return share > 0.95
    ? "Almost every report differs from the answer"
    : share < 0.01
      ? "Fewer than 1% of reports differ from the answer"
      : `About ${Math.round(100 * share)}% of reports differ from the answer`;
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
