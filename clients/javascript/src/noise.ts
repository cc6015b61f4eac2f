/** Exact noise on whole numbers and on the plane. */
import { coinOf, drawingFrom, toss, word, type Bits, type Coin } from "./bits.js";
import {
  asIntegers,
  digitsOf,
  exponentialBounds,
  fraction,
  oddsDigits,
  overRootTwo,
  powerBounds,
  powerDigits,
  ratioAbove,
  root,
  settled,
  times,
  type Digits,
  type Fraction,
} from "./exact.js";

/** Draws whole numbers. */
export type Steps = (bits: Bits) => bigint;

/** Geometric numbers of a ratio: P(G = g) proportional to ratio^g. */
function geometric(ratio: Fraction): Steps {
  const coins: Coin[] = [];
  let digit = 0;
  for (; powerDigits(ratio, digit)(8); digit++) coins.push(coinOf(oddsDigits(ratio, digit)));
  const last = coinOf(powerDigits(ratio, digit));
  coins.push(last);
  const step = 1n << BigInt(digit);
  return (bits) => {
    const heads = toss(coins, bits);
    let passes = heads.pop();
    let number = heads.reduceRight((sum, head) => 2n * sum + (head ? 1n : 0n), 0n);
    for (; passes; [passes] = toss([last], bits)) number += step;
    return number;
  };
}

/** One such number less another. */
export function twoSided(ratio: Fraction): Steps {
  const draw = geometric(ratio);
  return (bits) => draw(bits) - draw(bits);
}

/** The number of cells that Laplace noise moves the middle of a cell by; b = e^(-rate / 2). */
export function laplaceSteps(b: Fraction): Steps {
  const coins = [coinOf(digitsOf(b))];
  const draw = geometric(times(b, b));
  return (bits) => {
    // All three in any case, so that time does not tell who moved.
    const [moves] = toss(coins, bits);
    const steps = 1n + draw(bits);
    const isDown = bits.octet() & 1;
    return moves ? (isDown ? -steps : steps) : 0n;
  };
}

export type Move = [bigint, bigint];

/** Draws displacements. */
export type Moves = (bits: Bits) => Move;

/** Rows and columns apart from each other. */
export function taxicabMoves(ratio: Fraction): Moves {
  const draw = twoSided(ratio);
  return (bits) => [draw(bits), draw(bits)];
}

/** Displacements over the unbounded lattice, proportional to e^(-rate hypot). */
export function planarMoves(rate: Fraction): Moves {
  const ratio = ratioAbove(overRootTwo(rate));
  const propose = taxicabMoves(ratio);
  return (bits) => {
    for (;;) {
      const move = propose(bits);
      let u = word(bits);
      if (!move[0] && !move[1]) return move;
      const edge = edgeOf(rate, ratio, move);
      for (let precision = 64; ; precision += 64) {
        const leading = edge(precision);
        if (u < leading) return move;
        if (u > leading) break;
        u = (u << 64n) | word(bits);
      }
    }
  };
}

/** Leading bits of e^(-rate hypot) / ratio^steps, which is irrational. */
function edgeOf(rate: Fraction, ratio: Fraction, [down, along]: Move): Digits {
  const steps = (down < 0n ? -down : down) + (along < 0n ? -along : along);
  const square = down * down + along * along;
  // More than the bits by which either side may lie below 1: 2 rate steps, rounded up.
  const depth = Number((2n * rate.n * steps) / rate.d) + 2;
  return settled((precision) => {
    const scale = precision + depth;
    const length = root(square << BigInt(2 * scale));
    const bounds = (longer: bigint): [bigint, bigint] =>
      exponentialBounds(times(rate, fraction(length + longer, 1n << BigInt(scale))), scale);
    const [ratioLow, ratioHigh] = powerBounds(ratio, steps, scale);
    const shift = BigInt(precision);
    return [(bounds(1n)[0] << shift) / ratioHigh, (bounds(0n)[1] << shift) / ratioLow + 1n];
  });
}

/** Displacements of a table over one quadrant, with their weights in all four: twice either way down, and along. */
export function movesIn(quadrant: readonly (readonly number[])[]): [down: number, along: number, weight: bigint][] {
  const width = quadrant[0].length;
  return asIntegers(quadrant.flat()).map((weight, place) => {
    const [down, along] = [Math.trunc(place / width), place % width];
    return [down, along, weight << BigInt(Number(down > 0) + Number(along > 0))];
  });
}

/** Draws displacements of a table over one quadrant, alike in all four. */
export function tableMoves(quadrant: readonly (readonly number[])[]): Moves {
  const width = quadrant[0].length;
  const draw = drawingFrom(() => movesIn(quadrant).map(([, , weight]) => weight));
  return (bits) => {
    const chosen = draw(bits);
    const down = BigInt(Math.trunc(chosen / width));
    const along = BigInt(chosen % width);
    const signs = bits.octet();
    return [signs & 1 ? -down : down, signs & 2 ? -along : along];
  };
}
