/** Exact noise on whole numbers and on the plane. */
import { coinOf, toss, Weights, word, type Bits, type Coin } from "./bits.js";
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

/** Geometric numbers of a ratio: P(G = g) proportional to ratio^g. */
export class Geometric {
  readonly #coins: Coin[] = [];
  readonly #last: Coin;

  constructor(ratio: Fraction) {
    let digit = 0;
    for (; powerDigits(ratio, digit)(8) !== 0n; digit++) this.#coins.push(coinOf(oddsDigits(ratio, digit)));
    this.#last = coinOf(powerDigits(ratio, digit));
    this.#coins.push(this.#last);
  }

  /** One geometric number. */
  draw(bits: Bits): bigint {
    const heads = toss(this.#coins, bits);
    const depth = heads.length - 1;
    let number = 0n;
    for (let digit = depth - 1; digit >= 0; digit--) number = (number << 1n) | (heads[digit] ? 1n : 0n);
    const step = 1n << BigInt(depth);
    for (let passes = heads[depth]; passes; passes = toss([this.#last], bits)[0]) number += step;
    return number;
  }

  /** One such number less another. */
  twoSided(bits: Bits): bigint {
    const first = this.draw(bits);
    return first - this.draw(bits);
  }
}

/** The number of cells that Laplace noise moves the middle of a cell by; b = e^(-rate / 2). */
export class LaplaceCells {
  readonly #moves: Coin;
  readonly #steps: Geometric;

  constructor(b: Fraction) {
    this.#moves = coinOf(digitsOf(b));
    this.#steps = new Geometric(times(b, b));
  }

  draw(bits: Bits): bigint {
    // All three in any case, so that time does not tell who moved.
    const [moves] = toss([this.#moves], bits);
    const steps = 1n + this.#steps.draw(bits);
    const isDown = bits.octet() & 1;
    return moves ? (isDown ? -steps : steps) : 0n;
  }
}

export type Move = [bigint, bigint];

/** Displacements over the unbounded lattice, proportional to e^(-rate hypot). */
export class Planar {
  readonly #rate: Fraction;
  readonly #ratio: Fraction;
  readonly #proposal: Geometric;

  constructor(rate: Fraction) {
    this.#rate = rate;
    this.#ratio = ratioAbove(overRootTwo(rate));
    this.#proposal = new Geometric(this.#ratio);
  }

  draw(bits: Bits): Move {
    for (;;) {
      const down = this.#proposal.twoSided(bits);
      const along = this.#proposal.twoSided(bits);
      if (this.#keeps(down, along, word(bits), bits)) return [down, along];
    }
  }

  #keeps(down: bigint, along: bigint, u: bigint, bits: Bits): boolean {
    if (down === 0n && along === 0n) return true;
    const edge = this.#edge(down, along);
    for (let precision = 64; ; precision += 64) {
      const leading = edge(precision);
      if (u !== leading) return u < leading;
      u = (u << 64n) | word(bits);
    }
  }

  /** Leading bits of e^(-rate hypot) / ratio^steps, which is irrational. */
  #edge(down: bigint, along: bigint): Digits {
    const steps = (down < 0n ? -down : down) + (along < 0n ? -along : along);
    const square = down * down + along * along;
    // More than the bits by which either side may lie below 1: 2 rate steps, rounded up.
    const depth = Number((2n * this.#rate.n * steps) / this.#rate.d) + 2;
    return settled((precision) => {
      const scale = precision + depth;
      const length = root(square << BigInt(2 * scale));
      const one = 1n << BigInt(scale);
      const shorter = times(this.#rate, fraction(length, one));
      const longer = times(this.#rate, fraction(length + 1n, one));
      const low = exponentialBounds(longer, scale)[0];
      const high = exponentialBounds(shorter, scale)[1];
      const [ratioLow, ratioHigh] = powerBounds(this.#ratio, steps, scale);
      const shift = BigInt(precision);
      return [(low << shift) / ratioHigh, (high << shift) / ratioLow + 1n];
    });
  }
}

/** Displacements with the probabilities of a table over one quadrant, alike in all four. */
export class TableMoves {
  readonly #weights: Weights;
  readonly #width: number;

  constructor(quadrant: readonly (readonly number[])[]) {
    this.#width = quadrant[0].length;
    this.#weights = new Weights(() => {
      const weights = asIntegers(quadrant.flat());
      return weights.map((weight, place) => weight * copies(Math.trunc(place / this.#width), place % this.#width));
    });
  }

  draw(bits: Bits): Move {
    const chosen = this.#weights.draw(bits);
    const down = BigInt(Math.trunc(chosen / this.#width));
    const along = BigInt(chosen % this.#width);
    const signs = bits.octet();
    return [signs & 1 ? -down : down, signs & 2 ? -along : along];
  }
}

/** How often a displacement stands in the plane. */
function copies(down: number, along: number): bigint {
  return (down ? 2n : 1n) * (along ? 2n : 1n);
}
