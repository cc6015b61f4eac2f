/** A survey's promise in plain words, with odds: of distances, where Python's sentences are of pairs of values. */
import type { Alphabet, Attributes, Line, Plane } from "./alphabets.js";
import { minus, toDouble } from "./exact.js";
import type { Guarantee, Single } from "./mechanisms.js";
import type { Survey } from "./survey.js";

/** A number with so many digits, and no zeros at its end. */
function general(number: number, digits: number): string {
  return String(Number(number.toPrecision(digits)));
}

/** A number of things, in the plural where there is not exactly one; symbols such as km stay as they are. */
function counted(amount: number, unit: string): string {
  const number = general(amount, 3);
  const isWord = /^[a-z]{3,}$/.test(unit) && !/s$|thousand|illion|dozen/.test(unit);
  return `${number} ${number !== "1" && isWord ? `${unit}s` : unit}`.trimEnd();
}

/** What is promised of each attribute; these are not made of others. */
const partsOf = (guarantee: Guarantee): readonly Single[] =>
  guarantee.kind === "product" ? guarantee.parts : [guarantee];

/** The epsilon of all attributes together, where each has one that knows no distance. */
export function together(guarantee: Guarantee): number | null {
  return partsOf(guarantee).every((part) => part.kind === "local") ? total(guarantee) : null;
}

/** The promise in a few words. */
export function terms(guarantee: Guarantee, reports = 1): string {
  const each = partsOf(guarantee).map((part, index) => {
    const epsilon = general(part.epsilon * reports, 4);
    const own = part.kind === "local" ? `epsilon ${epsilon}` : `${epsilon} per ${part.unit || "unit"}`;
    return guarantee.kind === "product" ? `${own} for ${guarantee.names[index]}` : own;
  });
  const all = together(guarantee);
  if (each.length > 1 && all !== null) each.push(`together epsilon ${general(all * reports, 4)}`);
  return each.join(", ");
}

/** What a report tells of two values whose log-ratio is at most this. */
function odds(ratio: number): string {
  const likelier = 100 / (1 + Math.exp(-ratio));
  const digits = likelier >= 50.5 && likelier < 99 ? 0 : 1;
  return `: even odds become ${likelier.toFixed(digits)} to ${(100 - likelier).toFixed(digits)} at most`;
}

/** How many steps two values lie apart at most. */
function reach(alphabet: Alphabet): number {
  const { rows, columns } = alphabet as Plane;
  if (alphabet.shape === "plane") return Math.hypot(rows - 1, columns - 1);
  const { positions } = alphabet as Line;
  if (positions) return toDouble(minus(positions.at(-1)!, positions[0]));
  return alphabet.shape === "circle"
    ? Math.floor(alphabet.size / 2)
    : alphabet.shape === "line"
      ? alphabet.size - 1
      : 1;
}

function sentences(guarantee: Guarantee, alphabet: Alphabet): string[] {
  if (guarantee.kind === "product") {
    const { alphabets } = alphabet as Attributes;
    let largest = 0; // log-ratio of any two values
    const each = guarantee.parts.flatMap((part, index) => {
      const own = alphabets[index];
      largest += part.epsilon * (part.kind === "local" ? 1 : own.spacing * reach(own));
      return sentences(part, own).map((sentence) => `${guarantee.names[index]}: ${sentence}`);
    });
    return [...each, `Together any two people${odds(largest)}.`];
  }
  if (guarantee.kind === "local") return [`Any two values${odds(guarantee.epsilon)}.`];
  // Neighbours (those farthest apart, where they differ) and a far pair; of coordinates, whose steps are a metre or so, farther ones.
  const scale = (alphabet as Plane).steps ? 100 : 1;
  const { positions } = alphabet as Line;
  const near = positions
    ? Math.max(...positions.map((one, index) => index && toDouble(minus(one, positions[index - 1]))))
    : 1;
  const far = Math.min(reach(alphabet), positions ? Infinity : 50);
  return [near, far].flatMap((step, index) => {
    const apart = step * scale * alphabet.spacing;
    return index && far <= near
      ? []
      : `Two values ${counted(apart, alphabet.unit)} apart${odds(guarantee.epsilon * apart)}.`;
  });
}

/** The promise: in a few words, in odds, and what becomes of it when a person reports again. */
export function promiseOf({ guarantee, lasting, limits, isPermanent }: Survey, alphabet: Alphabet): string[] {
  const { reports: most, epsilon } = limits;
  const every = lasting ?? guarantee;
  const again = isPermanent
    ? [`Any number of reports of the same value: ${terms(every)}. Each other value adds as much.`]
    : most === null
      ? [`Each further report adds as much: ${terms(guarantee, 30)} after 30.`]
      : [];
  if (most !== null) {
    const sum = isPermanent ? (lasting ? "" : ", none twice") : `: ${terms(guarantee, most)}`;
    again.push(`At most ${counted(most, "report")} of one person${sum}.`);
  }
  if (epsilon !== null) again.push(`At most epsilon ${epsilon} of one person in all.`);
  return [`One report: ${terms(guarantee)}.`, ...sentences(guarantee, alphabet), ...again];
}

/** All that is promised, attribute by attribute. */
export function total(guarantee: Guarantee): number {
  return partsOf(guarantee).reduce((sum, part) => sum + part.epsilon, 0);
}
