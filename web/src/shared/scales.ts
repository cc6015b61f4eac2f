/** What all pictures measure with: ticks, numbers as people read them, and the width of words. */

/** Round numbers from low to high, at most as many as asked for. */
export function ticks(low: number, high: number, most: number, isWhole = false): number[] {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  const fits = (factor: number): boolean => factor * power >= rough * 0.999 && !(isWhole && (factor * power) % 1 !== 0);
  const step = isWhole && rough <= 1 ? 1 : ([1, 2, 2.5, 5, 10].find(fits) ?? 10) * power;
  const found: number[] = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at++)
    found.push(Number((at * step).toPrecision(12)));
  return found;
}

/** A share as people read it: "4.1%", "0.03%", "37%". */
export function percent(share: number): string {
  const hundredths = share * 100;
  const size = Math.abs(hundredths);
  // Less than one in a million is none to the eye.
  if (size < 1e-4) return "0%";
  const digits = size >= 9.95 ? 0 : size >= 0.0995 ? 1 : Math.min(6, 1 - Math.floor(Math.log10(size)));
  return `${hundredths.toFixed(digits)}%`;
}

/** Ticks of shares with as many digits as tell them apart. */
export function percents(shares: number[]): string[] {
  const step = shares.length > 1 ? Math.abs(shares[1]! - shares[0]!) * 100 : 1;
  let digits = 0;
  while (digits < 6 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6) digits++;
  return shares.map((share) => `${(share * 100).toFixed(digits)}%`);
}

/** A number in few digits, thousands grouped: "48,842", "0.05", "12.4". */
export function number(value: number, digits = 3): string {
  if (!Number.isFinite(value)) return String(value);
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return Number(value.toPrecision(Math.max(digits, Math.ceil(Math.log10(Math.abs(value) + 1))))).toLocaleString("en", {
    maximumFractionDigits: 8,
  });
}

let paper: CanvasRenderingContext2D | null = null;

/** Width in pixels that words take in a picture. */
export function widthOf(text: string, size = 12, weight = 400): number {
  paper ??= document.createElement("canvas").getContext("2d");
  if (!paper) return text.length * size * 0.6;
  paper.font = `${weight} ${size}px ${getComputedStyle(document.documentElement).getPropertyValue("--font") || "sans-serif"}`;
  return paper.measureText(text).width;
}

/** Words cut with an ellipsis where they are wider than there is room. */
export function shorten(text: string, room: number, size = 12, weight = 400): string {
  if (widthOf(text, size, weight) <= room) return text;
  const letters = [...text];
  let kept = Math.max(1, Math.floor((letters.length * room) / widthOf(text, size, weight)));
  while (kept > 1 && widthOf(`${letters.slice(0, kept).join("")}…`, size, weight) > room) kept--;
  return `${letters.slice(0, kept).join("").trimEnd()}…`;
}

export function largest(list: Iterable<number>, least = -Infinity): number {
  let found = least;
  for (const one of list) if (one > found) found = one;
  return found;
}

export function smallest(list: Iterable<number>, most = Infinity): number {
  let found = most;
  for (const one of list) if (one < found) found = one;
  return found;
}

/** A coordinate in a path: a hundredth of a pixel is enough. */
export function at(value: number): string {
  return String(Math.round(value * 100) / 100);
}
