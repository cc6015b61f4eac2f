/** Exact arithmetic: fractions, and as many binary digits of e^-x as are asked for. No float is computed with. */

export interface Fraction {
  readonly n: bigint;
  readonly d: bigint;
}

/** In lowest terms; d is positive. */
export function fraction(n: bigint, d = 1n): Fraction {
  const common = gcd(n < 0n ? -n : n, d);
  return { n: n / common, d: d / common };
}

/** What is made of 0, 1, 2, ... */
export const listOf = <Made>(length: number, make: (index: number) => Made): Made[] =>
  Array.from({ length }, (_, index) => make(index));

/** How many of 0, 1, 2, ... come before those of which something is true no more. */
export function countUntil(length: number, isBefore: (index: number) => boolean): number {
  let low = 0;
  while (low < length) {
    const middle = (low + length) >>> 1;
    if (isBefore(middle)) low = middle + 1;
    else length = middle;
  }
  return low;
}

/** How many binary digits a number has. */
export const bitLength = (x: bigint | number): number => x.toString(2).length;

export function gcd(a: bigint, b: bigint): bigint {
  while (b) [a, b] = [b, a % b];
  return a;
}

/** The exact value of a float64 number: whole, after so many doublings, which round nothing. */
export function ofDouble(x: number): Fraction {
  let doublings = 0;
  for (; x % 1; doublings += 32) x *= 2 ** 32;
  return fraction(BigInt(x), 1n << BigInt(doublings));
}

/** Past it, up or down, a decimal number is farther out, or nearer to nothing, than any edge. */
const FARTHEST = 500;

/** A decimal number as it is written. */
export function ofDecimal(text: string): Fraction {
  const [, sign, ahead, behind, exponent] = /([+-]?)(\d*)\.?(\d*)(?:e(.*))?/i.exec(text)!;
  const digits = ahead + behind;
  const number = BigInt(digits) * (sign === "-" ? -1n : 1n);
  const power = Math.max(Math.min(Number(exponent ?? 0) - behind.length, FARTHEST), -FARTHEST - digits.length);
  return power < 0 ? fraction(number, 10n ** BigInt(-power)) : fraction(number * 10n ** BigInt(power));
}

/** A float64 number as the shortest decimal that it prints as. */
export function ofShortest(x: number): Fraction {
  return ofDecimal(String(x));
}

export const times = (a: Fraction, b: Fraction): Fraction => fraction(a.n * b.n, a.d * b.d);
export const plus = (a: Fraction, b: Fraction): Fraction => fraction(a.n * b.d + b.n * a.d, a.d * b.d);
export const minus = (a: Fraction, b: Fraction): Fraction => fraction(a.n * b.d - b.n * a.d, a.d * b.d);
export const over = (a: Fraction, by: bigint): Fraction => fraction(a.n, a.d * by);

/** Negative where a < b, 0 where they are equal: Number() keeps signs, and makes nothing of nothing else. */
export const compare = (a: Fraction, b: Fraction): number => Number(a.n * b.d - b.n * a.d);

/** The nearest float64 of a fraction, ties to even: for what people are shown, and for spacings, never for noise. */
export function toDouble(x: Fraction): number {
  const size = x.n < 0n ? -x.n : x.n;
  const shift = Math.max(64 - bitLength(size) + bitLength(x.d), 0);
  const scaled = size << BigInt(shift);
  // 64 digits or more, the last of which says whether anything follows: Number() then rounds once, and correctly.
  const near = Number((scaled / x.d) | (scaled % x.d ? 1n : 0n)) * 2 ** -shift;
  return x.n < 0n ? -near : near;
}

/** The whole part of a square root. */
export function root(square: bigint): bigint {
  if (square < 2n) return square;
  let x = 1n << BigInt((bitLength(square) + 1) >> 1);
  for (;;) {
    const next = (x + square / x) >> 1n;
    if (next >= x) return x;
    x = next;
  }
}

/** Integers around e^-x times 2^precision, for x >= 0; two units apart. */
export function exponentialBounds(x: Fraction, precision: number): [bigint, bigint] {
  // e^-x = (e^-t)^(2^halvings) with t = x / 2^halvings below 2^-8; each squaring doubles the relative error.
  const whole = x.n / x.d;
  const halvings = 9 + (whole ? bitLength(whole) : 0);
  const guard = halvings + 24;
  const scale = BigInt(precision + guard);
  const t = ((x.n << scale) / x.d) >> BigInt(halvings);
  let sum = 0n;
  let term = 1n << scale;
  let count = 1n;
  for (; term; count++) {
    sum += count & 1n ? term : -term;
    term = (term * t) >> scale;
    term /= count;
  }
  // t is off by less than two units, and every term by less than three. From a lower bound on, a squaring makes an error
  // e at most 2e + 1: as there are fewer than 2^20 terms, together less than a unit of the last place.
  let power = sum - 3n * count - 4n;
  for (let i = 0; i < halvings; i++) power = (power * power) >> scale;
  return around(power >> BigInt(guard));
}

/** A number by its leading bits: `leading(count)` is the whole part of it times 2^count. */
export type Digits = (count: number) => bigint;

/** Leading bits of a number that is no multiple of a power of two, from bounds that can be made as close as need be. */
export function settled(bounds: (precision: number) => [bigint, bigint]): Digits {
  return (count) => {
    for (let guard = 32; ; guard *= 2) {
      const [low, high] = bounds(count + guard);
      if (low >> BigInt(guard) === high >> BigInt(guard)) return low >> BigInt(guard);
    }
  };
}

/** A dyadic fraction just above e^-x: the specification's "ratio above e^-x". */
export function ratioAbove(x: Fraction): Fraction {
  const bits = 64 + Number((3n * x.n + 2n * x.d - 1n) / (2n * x.d));
  return fraction(settled((precision) => exponentialBounds(x, precision))(bits) + 1n, 1n << BigInt(bits));
}

/** A fraction just below x / sqrt 2. */
export function overRootTwo(x: Fraction): Fraction {
  const scaled = x.n << 128n;
  return fraction(root((scaled * scaled) / 2n), x.d << 128n);
}

/** Leading bits of a fraction below 1. */
export function digitsOf(p: Fraction): Digits {
  return (count) => (p.n << BigInt(count)) / p.d;
}

/** Integers around ratio^exponent times 2^precision, for a ratio below 1; two units apart. */
export function powerBounds(ratio: Fraction, exponent: bigint, precision: number): [bigint, bigint] {
  const digits = exponent.toString(2);
  const guard = BigInt(2 * digits.length + 4);
  const scale = BigInt(precision) + guard;
  const own = (ratio.n << scale) / ratio.d;
  let power = 1n << scale;
  for (const bit of digits) {
    power = (power * power) >> scale;
    if (bit === "1") power = (power * own) >> scale;
  }
  // All is rounded down, and a digit makes an error e at most 2e + 3: together less than a unit of the last place.
  return around(power >> guard);
}

/** Bounds of what lies less than two units above a number. */
const around = (low: bigint): [bigint, bigint] => [low, low + 2n];

/** Leading bits of ratio^(2^squarings). */
export function powerDigits(ratio: Fraction, squarings: number): Digits {
  return settled((precision) => powerBounds(ratio, 1n << BigInt(squarings), precision));
}

/** Leading bits of s / (1 + s), s = ratio^(2^squarings). */
export function oddsDigits(ratio: Fraction, squarings: number): Digits {
  return settled((precision) => {
    const [low, high] = powerBounds(ratio, 1n << BigInt(squarings), precision + 32);
    const one = 1n << BigInt(precision + 32);
    const shift = BigInt(precision);
    return [(low << shift) / (one + low), (high << shift) / (one + high) + 1n];
  });
}

/** float64 numbers as integers over one common power of two, exactly. */
export function asIntegers(numbers: readonly number[]): bigint[] {
  const parts = numbers.map(ofDouble);
  const largest = parts.reduce((most, one) => (one.d > most ? one.d : most), 1n);
  return parts.map((one) => one.n * (largest / one.d));
}
