/** Mechanisms: a value in, a noisy report out, drawn exactly as docs/device.md says. */
import {
  alphabetIn,
  attributesOf,
  indexOf,
  lineOf,
  planeOf,
  type Alphabet,
  type Attributes,
  type Cell,
  type Line,
  type Plane,
  type Value,
} from "./alphabets.js";
import { below, coinOf, drawingFrom, toss, type Bits, type Coin } from "./bits.js";
import {
  asIntegers,
  bitLength,
  compare,
  digitsOf,
  fraction,
  gcd,
  listOf,
  minus,
  ofDouble,
  over,
  overRootTwo,
  plus,
  ratioAbove,
  times,
  toDouble,
  type Fraction,
} from "./exact.js";
import { isCount, isNumber } from "./errors.js";
import type { Json, Table } from "./json.js";
import { laplaceSteps, movesIn, planarMoves, tableMoves, taxicabMoves, twoSided, type Steps } from "./noise.js";
import { noValue } from "./words.js";

/** What is promised of a report of one attribute. */
export type Single =
  | { readonly kind: "local"; readonly epsilon: number }
  | { readonly kind: "metric"; readonly epsilon: number; readonly unit: string };

/** What is promised of a report. */
export type Guarantee =
  | Single
  | { readonly kind: "product"; readonly names: readonly string[]; readonly parts: readonly Single[] };

export interface Mechanism {
  readonly guarantee: Guarantee;
  /** A noisy report of a value. */
  report(value: Value, bits: Bits): Json;
  /** The number of a report of the value with a number, and what reports are, where these are finitely many. */
  readonly draw?: (index: number, bits: Bits) => number;
  readonly reports?: Alphabet;
  /** Of two rounds, what is promised of any number of reports of one value. */
  readonly lasting?: Guarantee;
  /** Of attributes, how each is blurred. */
  readonly each?: readonly Finite[];
  /** The log-ratio between the value that a report names and any other, where that is all there is to say. */
  readonly alike?: number;
  /** Weights of all reports of a value; absent where there are too many for a promise to be read off them. */
  readonly weights?: Row;
  /** Whether two values with the same noise come out no farther apart than they are. */
  readonly isSteady?: boolean;
  /** Of bits, the probabilities that the value's own and any other is set, and how given bits are blurred anew. */
  readonly bits?: Encoding;
}

type Row = (index: number) => bigint[];

interface Encoding {
  readonly keep: Fraction;
  readonly flip: Fraction;
  readonly again: (set: readonly boolean[], bits: Bits) => string;
}

type Finite = Mechanism & { draw: (index: number, bits: Bits) => number; reports: Alphabet };

/** What a mechanism is made from: its own table, its values, and the numbers that come with the survey. */
interface Parts {
  readonly table: Table;
  readonly alphabet: Alphabet;
  readonly numbers: Table;
}

/** Values up to which a row of weights per value is drawn from. */
const LARGEST_TABLE = 256;

/** Values up to which a report has a bit for each: past it a message would be larger than a mebibyte. */
const MOST_BITS = 2 ** 20;

function finite(
  alphabet: Alphabet,
  guarantee: Guarantee,
  draw: (index: number, bits: Bits) => number,
  reports = alphabet,
): Finite {
  return {
    guarantee,
    reports,
    draw,
    report: (value, bits) => reports.at(draw(indexOf(alphabet, value), bits)) as Json,
  };
}

/** Draws from a row of weights for each value, made when it is first needed. */
function drawing(row: Row): (index: number, bits: Bits) => number {
  const made: ((bits: Bits) => number)[] = [];
  return (index, bits) => (made[index] ??= drawingFrom(() => row(index)))(bits);
}

/** Epsilon, refused where it is no promise between values `step` apart. */
function epsilonIn({ table }: Parts, step = 1): number {
  const epsilon = table.positive("epsilon");
  return isPromise(epsilon * step) ? epsilon : table.bad("epsilon");
}

const isPromise = (ratio: number): boolean => ratio >= 1e-9 && ratio <= 100;

function requireFinite({ table, alphabet }: Parts, most = Number.MAX_SAFE_INTEGER): void {
  if (!(alphabet.size >= 2 && alphabet.size <= most)) table.bad("alphabet");
}

const local = (epsilon: number): Single => ({ kind: "local", epsilon });
const metric = (alphabet: Alphabet, epsilon: number): Single => ({ kind: "metric", epsilon, unit: alphabet.unit });

// Randomized response, unary encodings, matrices.

function randomizedResponse(parts: Parts): Mechanism {
  requireFinite(parts);
  const epsilon = epsilonIn(parts);
  const { n, d } = ratioAbove(ofDouble(epsilon));
  const others = parts.alphabet.size - 1;
  const replaces = drawingFrom(() => [d, BigInt(others) * n]);
  const draw = (index: number, bits: Bits): number => {
    const isReplaced = replaces(bits);
    const other = below(others, bits); // in any case, so that time does not tell who was replaced
    return isReplaced ? other + Number(other >= index) : index;
  };
  return {
    ...finite(parts.alphabet, local(epsilon), draw),
    alike: epsilon,
    weights: (index) => listOf(others + 1, (z) => (z === index ? d : n)),
  };
}

function rappor(parts: Parts): Mechanism {
  requireFinite(parts, MOST_BITS);
  const epsilon = epsilonIn(parts);
  const { n, d } = ratioAbove(over(ofDouble(epsilon), 2n));
  return encoding(parts.alphabet, epsilon, fraction(d, n + d), fraction(n, n + d));
}

function optimizedUnary(parts: Parts): Mechanism {
  requireFinite(parts, MOST_BITS);
  const epsilon = epsilonIn(parts);
  const { n, d } = ratioAbove(ofDouble(epsilon));
  return encoding(parts.alphabet, epsilon, fraction(1n, 2n), fraction(n, n + d));
}

function unary(parts: Parts): Mechanism {
  const { table, alphabet } = parts;
  requireFinite(parts, MOST_BITS);
  const [keep, flip] = ["keep", "flip"].map((key) => ofDouble(table.positive(key)));
  if (compare(flip, keep) >= 0 || keep.n >= keep.d) table.bad("keep");
  const epsilon = encodingEpsilon(keep, flip);
  return isPromise(epsilon) ? encoding(alphabet, epsilon, keep, flip) : table.bad("keep");
}

/** A logarithm, rounded up past its error. */
const logAbove = (ratio: number): number => Math.log(ratio) * (1 + 1e-14) + 1e-15 * Number(ratio > 1);

/** The log of keep (1 - flip) / (flip (1 - keep)). */
function encodingEpsilon(keep: Fraction, flip: Fraction): number {
  return logAbove(toDouble(fraction(keep.n * (flip.d - flip.n), flip.n * (keep.d - keep.n))));
}

/** The first `reach` outputs, as numbered from a value, are 1 / ratio times as likely as each of the others. */
function nearOrFar(
  { alphabet }: Parts,
  epsilon: number,
  reach: number,
  reports: Alphabet,
  output: (index: number, number: number) => number,
): Mechanism {
  const { n, d } = ratioAbove(ofDouble(epsilon));
  const others = reports.size - reach;
  const isFar = drawingFrom(() => [BigInt(reach) * d, BigInt(others) * n]);
  const draw = (index: number, bits: Bits): number => {
    const far = isFar(bits);
    const [near, other] = [below(reach, bits), below(others, bits)]; // both, so that time does not tell which
    return output(index, far ? reach + other : near);
  };
  const weights = (index: number): bigint[] => {
    const row = listOf(reports.size, () => n);
    for (let number = 0; number < reach; number++) row[output(index, number)] = d;
    return row;
  };
  return { ...finite(alphabet, local(epsilon), draw, reports), weights };
}

/** Whether the number of set bits is odd. */
function parity(number: number): boolean {
  for (let shift = 16; shift; shift >>= 1) number ^= number >> shift;
  return (number & 1) === 1;
}

/** Near are the outputs of the value's block that have an even number of bits in common with its row. */
function hadamardResponse(parts: Parts): Mechanism {
  const { table, alphabet } = parts;
  requireFinite(parts, 2 ** 28);
  const epsilon = epsilonIn(parts);
  const blocks = table.whole("blocks", 1);
  if (!(blocks < 2 * alphabet.size) || blocks & (blocks - 1)) table.bad("blocks");
  const width = 2 ** bitLength(Math.ceil(alphabet.size / blocks));
  const half = width / 2;
  return nearOrFar(parts, epsilon, half, lineOf({ low: 0, high: blocks * width - 1 }), (index, number) => {
    const row = (index % (width - 1)) + 1;
    const beyond = Math.floor(number / width);
    let column = number % width;
    if (!beyond) {
      const lowest = row & -row; // the bit of the column that settles the parity; the others are those of the number
      const low = (number % half) & (lowest - 1);
      column = 2 * ((number % half) - low) + low;
      if (parity(column & row) !== number >= half) column += lowest;
    }
    return ((Math.floor(index / (width - 1)) + beyond) % blocks) * width + column;
  });
}

/** Points up to which a geometry is listed. */
const MOST_POINTS = 2 ** 20;

/** Near are the outputs a place of the difference set after the value: where a sequence with a recurrence is zero. */
function projectiveGeometry(parts: Parts): Mechanism {
  const { table, alphabet } = parts;
  requireFinite(parts, MOST_POINTS - 1);
  const epsilon = epsilonIn(parts);
  const order = table.whole("order", 2);
  if (order >= MOST_POINTS) table.bad("order");
  for (let divisor = 2; divisor * divisor <= order; divisor++) if (order % divisor === 0) table.bad("order");
  const factors = table.list<number>("recurrence", (one) => isCount(one) && (one as number) < order);
  const count = factors.slice(1).reduce((points) => points * order + 1, 1);
  if (factors.length < 2 || !factors[0] || count < alphabet.size || !(count <= MOST_POINTS)) table.bad("recurrence");
  const zeros = factors.length - 1; // as many begin the sequence, and begin it anew after all points, not before
  const sequence = new Int32Array(count + factors.length);
  sequence[zeros] = 1;
  for (let next = zeros + 1, run = 0; next < sequence.length; next++) {
    sequence[next] = factors.reduce((sum, one, at) => sum + one * sequence[next - zeros - 1 + at], 0) % order;
    run = sequence[next] ? 0 : run + 1;
    if ((run === zeros) !== (next === count + zeros - 1)) table.bad("recurrence");
  }
  const isZero = (place: number): boolean => !sequence[place];
  const inside = listOf(count, Number).filter(isZero);
  const places = [...inside, ...listOf(count, Number).filter((place) => !isZero(place))];
  const reports = lineOf({ low: 0, high: count - 1 });
  return nearOrFar(parts, epsilon, inside.length, reports, (index, number) => (index + places[number]) % count);
}

/** One bit for each value: set with probability `keep` for the value itself, `flip` for any other. */
function encoding(alphabet: Alphabet, epsilon: number, keep: Fraction, flip: Fraction): Mechanism {
  // Under a symmetric pair the same toss serves a bit that is set: it is kept unless it is flipped.
  const isSymmetric = compare(minus(fraction(1n), flip), keep) === 0;
  const blur = (set: readonly boolean[], bits: Bits): string => {
    const heads = tossRarer(flip, set.length, bits);
    const kept = isSymmetric ? [] : tossRarer(keep, set.filter(Boolean).length, bits);
    return heads.map((head, place) => Number(set[place] ? (isSymmetric ? !head : kept.shift()) : head)).join("");
  };
  return {
    guarantee: local(epsilon),
    bits: { keep, flip, again: blur },
    report: (value, bits) => {
      const own = indexOf(alphabet, value);
      return blur(
        listOf(alphabet.size, (place) => place === own),
        bits,
      );
    },
  };
}

/** Tosses coins of a probability, by their rarer side. */
function tossRarer(p: Fraction, count: number, bits: Bits): boolean[] {
  const isLikely = 2n * p.n > p.d;
  const coin = coinOf(digitsOf(isLikely ? minus(fraction(1n), p) : p));
  return toss(new Array<Coin>(count).fill(coin), bits).map((head) => head !== isLikely);
}

/** A set of `members` values, each with the value itself 1 / ratio times as likely as each without it. */
function subsetSelection(parts: Parts): Mechanism {
  const { table, alphabet } = parts;
  requireFinite(parts, MOST_BITS);
  const epsilon = epsilonIn(parts);
  const members = table.whole("members", 1);
  const others = alphabet.size - 1;
  if (members > others) table.bad("members");
  const { n, d } = ratioAbove(ofDouble(epsilon));
  const isWithout = drawingFrom(() => [BigInt(members) * d, BigInt(alphabet.size - members) * n]);
  const report = (value: Value, bits: Bits): string => {
    const own = indexOf(alphabet, value);
    const without = isWithout(bits);
    const chosen = new Set<number>();
    for (let last = others - members; last < others; last++) {
      const drawn = below(last + 1, bits);
      chosen.add(chosen.has(drawn) ? last : drawn);
    }
    const place = below(members, bits); // in any case, so that time does not tell which one was reported
    const named = [...chosen].sort((a, b) => a - b).map((one) => one + Number(one >= own));
    if (!without) named[place] = own;
    const set = new Set(named);
    return listOf(alphabet.size, (one) => Number(set.has(one))).join("");
  };
  return { guarantee: local(epsilon), report };
}

/** The largest prime below 2^26, and the number of hashes ((a x + b) mod PRIME) mod buckets with a other than 0. */
const PRIME = 2 ** 26 - 5;
const HASHES = PRIME * (PRIME - 1);

/** The number of the hash of a seed of a pool: SplitMix64 from 0. */
function pooledHash(seed: number): number {
  const mix = (one: bigint, shift: bigint, factor: bigint): bigint =>
    BigInt.asUintN(64, (one ^ (one >> shift)) * factor);
  const start = BigInt.asUintN(64, BigInt(seed + 1) * 0x9e3779b97f4a7c15n);
  const mixed = mix(mix(start, 30n, 0xbf58476d1ce4e5b9n), 27n, 0x94d049bb133111ebn);
  return Number((mixed ^ (mixed >> 31n)) % BigInt(HASHES));
}

/** A seed, and the bucket of the value under its hash, 1 / ratio times as likely as each other bucket. */
function localHashing(parts: Parts): Mechanism {
  const { table, alphabet } = parts;
  requireFinite(parts, PRIME);
  const epsilon = epsilonIn(parts);
  const buckets = table.whole("buckets", 2);
  const isPool = table.states("seeds");
  const seeds = isPool ? table.whole("seeds", 2) : HASHES;
  if (buckets > 1024) table.bad("buckets");
  if (isPool && seeds > 2 ** 20) table.bad("seeds");
  const { n, d } = ratioAbove(ofDouble(epsilon));
  const isOther = drawingFrom(() => [d, BigInt(buckets - 1) * n]);
  const draw = (index: number, bits: Bits): [number, number] => {
    const other = isOther(bits);
    const seed = below(seeds, bits);
    const steps = 1 + below(buckets - 1, bits); // in any case, so that time does not tell which one was reported
    const hash = isPool ? pooledHash(seed) : seed;
    const own = (((Math.floor(hash / PRIME) + 1) * index + (hash % PRIME)) % PRIME) % buckets;
    return [seed, (own + (other ? steps : 0)) % buckets];
  };
  return { guarantee: local(epsilon), report: (value, bits) => draw(indexOf(alphabet, value), bits) };
}

/** Whether this is a list of numbers that are not negative. */
const areWeights = (row: Json): row is number[] => Array.isArray(row) && row.every((one) => isNumber(one) && one >= 0);

function matrix({ table, alphabet }: Parts): Mechanism {
  const rows = table.list<number[]>("matrix", areWeights, alphabet.size).map((row) => {
    const [one, ...numbers] = asIntegers([1, ...row]);
    const sum = toDouble(
      fraction(
        numbers.reduce((a, b) => a + b, 0n),
        one,
      ),
    );
    return Math.abs(sum - 1) <= 1e-9 ? row : table.bad("matrix");
  });
  const width = rows[0].length;
  let reports = width === alphabet.size ? alphabet : lineOf({ low: 0, high: width - 1 });
  if (table.states("outputs")) reports = alphabetIn(table.table("outputs"));
  if (reports.size !== width || rows.some((row) => row.length !== width)) table.bad("outputs");
  const weights = (index: number): bigint[] => asIntegers(rows[index]);
  return { ...finite(alphabet, local(smallestEpsilon(rows.map(asIntegers))), drawing(weights), reports), weights };
}

const total = (row: readonly bigint[]): bigint => row.reduce((sum, one) => sum + one, 0n);

/** The smallest epsilon that rows of weights keep. */
function smallestEpsilon(rows: readonly (readonly bigint[])[]): number {
  const totals = rows.map(total);
  const worst = rows[0].reduce((most, _, column) => {
    const shares = rows.map((row, index) => ({ n: row[column], d: totals[index] }));
    const [least, largest] = [1, -1].map((sign) => shares.reduce((a, b) => (sign * compare(a, b) > 0 ? b : a)));
    const ratio = least.n ? toDouble({ n: largest.n * least.d, d: largest.d * least.n }) : largest.n ? Infinity : 1; // 0 / 0: never reported
    return Math.max(most, ratio);
  }, 1);
  return logAbove(worst);
}

// Noise on a line.

/** Reports within `width` steps of the value are 1 / ratio times as likely as each of the others. */
function squareWave(parts: Parts): Mechanism {
  const { table, alphabet } = parts;
  requireFinite(parts);
  const isCircle = alphabet.shape === "circle";
  const { low, high } = isCircle ? (alphabet as Line) : shaped<Line>(parts, "line");
  const epsilon = epsilonIn(parts);
  const width = table.whole("width", 0);
  const reach = 2 * width + 1;
  if (isCircle ? reach >= alphabet.size : width >= alphabet.size) table.bad("width");
  const reports = isCircle ? alphabet : lineOf({ low: low - width, high: high + width, unit: alphabet.unit });
  const start = (index: number): number => (isCircle ? index - width + alphabet.size : index);
  return nearOrFar(parts, epsilon, reach, reports, (index, number) => (start(index) + number) % reports.size);
}

/** One bit, linear in the value: it is rounded to an end at random, and the end reported by randomized response. */
function oneBitMean(parts: Parts): Mechanism {
  const { table } = parts;
  const alphabet = shaped<Line>(parts, "line");
  requireFinite(parts);
  const epsilon = epsilonIn(parts);
  const { n, d } = ratioAbove(ofDouble(epsilon));
  const places = alphabet.positions && latticeOf(alphabet.positions).places;
  const place = (index: number): bigint => (places ? places[index] : BigInt(index));
  const steps = place(alphabet.size - 1);
  if (steps > Number.MAX_SAFE_INTEGER) table.bad("alphabet");
  const turns = drawingFrom(() => [d, n]);
  const draw = (index: number, bits: Bits): number => {
    const isTurned = turns(bits);
    return Number(below(Number(steps), bits) < Number(place(index))) ^ isTurned;
  };
  return {
    ...finite(alphabet, local(epsilon), draw, lineOf({ low: 0, high: 1 })),
    weights: (index) => {
      const [above, beyond] = [place(index), steps - place(index)];
      return [d * beyond + n * above, n * beyond + d * above];
    },
  };
}

/** The step of the coarsest lattice that holds positions, and where they lie on it. */
function latticeOf(positions: readonly Fraction[]): { step: Fraction; places: bigint[] } {
  const gaps = positions.map((one) => minus(one, positions[0]));
  const step = gaps.reduce((common, gap) => fraction(gcd(common.n * gap.d, gap.n * common.d), common.d * gap.d));
  return { step, places: gaps.map((gap) => (gap.n * step.d) / (gap.d * step.n)) };
}

/** The values, refused where they are not of a shape. */
function shaped<Made extends Alphabet>({ table, alphabet }: Parts, shape: Alphabet["shape"]): Made {
  return alphabet.shape === shape ? (alphabet as Made) : table.bad("alphabet");
}

const rateOf = (epsilon: number, { spacing }: Alphabet): Fraction => times(ofDouble(epsilon), ofDouble(spacing));

function unboundedLine(parts: Parts, resolution: number): Mechanism {
  const alphabet = shaped<Line>(parts, "line");
  const farthest = resolution > 1 ? 2 ** 35 : Infinity; // past it doubles do not hold the fraction
  if (alphabet.positions || (alphabet.size < Infinity && Math.max(-alphabet.low, alphabet.high) > farthest)) {
    parts.table.bad("alphabet");
  }
  const epsilon = epsilonIn(parts, alphabet.spacing);
  const draw = twoSided(ratioAbove(over(rateOf(epsilon, alphabet), BigInt(resolution))));
  return {
    guarantee: metric(alphabet, epsilon),
    report: (value, bits) => {
      const own = value as number;
      if (Math.abs(own) > farthest) noValue("outside the alphabet", value);
      const moved = draw(bits);
      // Whole numbers end at 2^53 - 1.
      const ends = (one: number): number => Math.min(Math.max(one, -Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
      return resolution > 1 ? own + Number(moved) / resolution : ends(Number(BigInt(own) + moved));
    },
  };
}

/** Noise on whole numbers: a sampler, and the weight of noise of at least so many steps, n and d to the power of `size`. */
interface LineNoise {
  steps: Steps;
  tail(steps: bigint, size: bigint): bigint;
  /** The weight of all noise. */
  all(size: bigint): bigint;
}

const powers = ({ n, d }: Fraction, size: number): bigint[] =>
  listOf(size, (power) => n ** BigInt(power) * d ** BigInt(size - 1 - power));

/** P(noise >= m) is ratio^m / (1 + ratio) for m >= 0. */
function geometricNoise(ratio: Fraction): LineNoise {
  const { n, d } = ratio;
  const all = (size: bigint): bigint => (d + n) * d ** size;
  const tail = (steps: bigint, size: bigint): bigint =>
    steps >= 0n ? n ** steps * d ** (size + 1n - steps) : all(size) - tail(1n - steps, size);
  return { steps: twoSided(ratio), all, tail };
}

/** P(noise >= m) is b^(2m - 1) / 2 for m >= 1, b = e^(-rate / 2). */
function laplaceNoise(b: Fraction): LineNoise {
  const { n, d } = b;
  const all = (size: bigint): bigint => 2n * d ** (2n * size + 1n);
  const tail = (steps: bigint, size: bigint): bigint =>
    steps >= 1n ? n ** (2n * steps - 1n) * d ** (2n * (size - steps) + 2n) : all(size) - tail(1n - steps, size);
  return { steps: laplaceSteps(b), all, tail };
}

/** Weights of noise on a lattice, around a place and reported by the cells at which outputs start. */
function byTails(noise: LineNoise, place: (index: number) => bigint, starts: bigint[], size: bigint): Row {
  return (index) => {
    const tails = [noise.all(size), ...starts.map((start) => noise.tail(start - place(index), size)), 0n];
    return tails.slice(1).map((one, at) => tails[at] - one);
  };
}

/** The cells from 1 on, at which all outputs but the first start where each is one cell. */
const counting = (size: number): bigint[] => listOf(size - 1, (index) => BigInt(index + 1));

function truncatedLine(parts: Parts, isLaplace: boolean): Mechanism {
  const { table } = parts;
  const alphabet = shaped<Line>(parts, "line");
  requireFinite(parts);
  const lattice = alphabet.positions && latticeOf(alphabet.positions);
  const places = lattice?.places ?? [0n, 1n];
  if (places.at(-1)! >= 2n ** 20n) table.bad("alphabet");
  const step = lattice ? lattice.step : ofDouble(alphabet.spacing);
  const gaps = places.slice(1).map((one, index) => one - places[index]);
  const least = gaps.reduce((a, b) => (a < b ? a : b));
  const epsilon = epsilonIn(parts, toDouble(times(step, fraction(least))));
  const rate = times(ofDouble(epsilon), step);
  const noise = isLaplace ? laplaceNoise(ratioAbove(over(rate, 2n))) : geometricNoise(ratioAbove(rate));
  const outputs = table.states("outputs") && (alphabetIn(table.table("outputs")) as Line);
  const reports = outputs || alphabet;
  const isFit = reports.shape === "line" && reports.spacing === alphabet.spacing && reports.high >= alphabet.low;
  if (outputs && (lattice || !isFit || reports.positions || reports.low > alphabet.high)) table.bad("outputs");
  // On a lattice reported as the nearest value, the lower of two.
  const starts = gaps.map((gap, index) => places[index] + gap / 2n + 1n);
  const shift = alphabet.low - reports.low;
  const place = (index: number): bigint => (lattice ? places[index] : BigInt(index + shift));
  const size = lattice
    ? Number(places.at(-1)) + 1
    : Math.max(alphabet.high, reports.high) - Math.min(alphabet.low, reports.low) + 1;
  const weights: Row = (index) => byTails(noise, place, lattice ? starts : counting(reports.size), BigInt(size))(index);
  const draw =
    size > LARGEST_TABLE
      ? (index: number, bits: Bits) => {
          const cell = place(index) + noise.steps(bits);
          return lattice ? starts.filter((start) => start <= cell).length : clamp(cell, reports.size);
        }
      : drawing(weights);
  return { ...finite(alphabet, metric(alphabet, epsilon), draw, reports), weights, isSteady: !lattice };
}

function clamp(number: bigint, size: number): number {
  return number <= 0n ? 0 : number >= BigInt(size) ? size - 1 : Number(number);
}

function wrappedGeometric(parts: Parts): Mechanism {
  const alphabet = shaped(parts, "circle");
  const epsilon = epsilonIn(parts);
  const ratio = ratioAbove(ofDouble(epsilon));
  const { size } = alphabet;
  const noise = twoSided(ratio);
  const around = BigInt(size);
  const weights: Row = (index) => {
    const each = powers(ratio, size + 1);
    return listOf(size, (z) => {
      const steps = (z - index + size) % size;
      return each[steps] + each[size - steps];
    });
  };
  const draw =
    size > LARGEST_TABLE
      ? (index: number, bits: Bits) => Number((((BigInt(index) + noise(bits)) % around) + around) % around)
      : drawing(weights);
  return { ...finite(alphabet, metric(alphabet, epsilon), draw), weights };
}

// Noise on a plane.

function planeIn(parts: Parts): Plane {
  const plane = shaped<Plane>(parts, "plane");
  return plane.size >= 2 ? plane : parts.table.bad("alphabet");
}

const taxicabRatio = (epsilon: number, alphabet: Alphabet): Fraction =>
  ratioAbove(overRootTwo(rateOf(epsilon, alphabet)));

function unboundedPlane(parts: Parts, kind: "taxicab" | "geometric" | "laplace"): Mechanism {
  const alphabet = planeIn(parts);
  const epsilon = epsilonIn(parts, alphabet.spacing);
  const farthest = alphabet.size < Infinity ? Math.max(alphabet.rows, alphabet.columns) : 0;
  if ((alphabet.steps && kind !== "laplace") || farthest > 2 ** 38) parts.table.bad("alphabet");
  const fine = kind === "laplace" && !alphabet.steps ? 4096 : 1;
  const moves =
    kind === "taxicab"
      ? taxicabMoves(taxicabRatio(epsilon, alphabet))
      : planarMoves(over(rateOf(epsilon, alphabet), BigInt(fine)));
  const degrees = alphabet.steps ?? [1, 1];
  return {
    guarantee: metric(alphabet, epsilon),
    report: (value, bits) => {
      const move = moves(bits).map(Number);
      return (value as number[]).map((part, axis) => (part + move[axis] / fine) / degrees[axis]);
    },
  };
}

/** A list of numbers of outputs. */
function outputsIn(table: Table, key: string, length: number, size: number): number[] {
  return table.list<number>(key, (one) => isCount(one) && one < size, length);
}

/** The numbers that come with a mechanism. */
const numbersOf = ({ numbers, table }: Parts): Table => numbers.table(table.place);

/** Rows of weights, not negative and none of nothing. */
function weightsIn(parts: Parts, key: string, rows: number, columns: number): number[][] {
  const isRow = (row: Json): boolean => areWeights(row) && row.length === columns && row.some(Boolean);
  return numbersOf(parts).list<number[]>(key, isRow, rows);
}

function truncatedPlane(parts: Parts, isTaxicab: boolean): Mechanism {
  const { table } = parts;
  const alphabet = planeIn(parts);
  const outputs = table.states("outputs") && (alphabetIn(table.table("outputs")) as Plane);
  const reports = outputs || alphabet;
  const isFit =
    reports.shape === "plane" && reports.spacing === alphabet.spacing && reports.size + alphabet.size < Infinity;
  if (!isFit || Math.min(alphabet.rows, alphabet.columns) < 2) table.bad("outputs");
  const epsilon = epsilonIn(parts, alphabet.spacing);
  // The box of values and outputs.
  const first = alphabet.first.map((one, axis) => Math.min(one, reports.first[axis]));
  const ends = (plane: Plane): number[] => [plane.first[0] + plane.rows, plane.first[1] + plane.columns];
  const box = ends(alphabet).map((end, axis) => Math.max(end, ends(reports)[axis]) - first[axis]);
  const isPlain = !outputs && !alphabet.hasHoles;
  const nearest = isPlain ? null : outputsIn(numbersOf(parts), "nearest", box[0] * box[1], reports.size);
  const ratio = taxicabRatio(epsilon, alphabet);
  const placesOf = (index: number): number[] => alphabet.at(index).map((part, axis) => part - first[axis]);
  const shift = (places: number[], move: readonly bigint[]): number[] =>
    places.map((place, axis) => clamp(BigInt(place) + move[axis], box[axis]));
  const outputOf = ([row, column]: readonly number[]): number => {
    const cell = row * box[1] + column;
    return nearest ? nearest[cell] : cell;
  };
  let moved: (places: number[], bits: Bits) => number[];
  /** Cells with the weights by which they come up, some of them more than once. */
  let landings: (places: number[]) => [number[], bigint][];
  if (isTaxicab) {
    const rows = box.map((size) => byTails(geometricNoise(ratio), BigInt, counting(size), BigInt(size)));
    const noise = taxicabMoves(ratio);
    const axes = rows.map(drawing);
    moved = (places, bits) =>
      Math.max(...box) > LARGEST_TABLE
        ? shift(places, noise(bits))
        : places.map((place, axis) => axes[axis](place, bits));
    landings = ([row, column]) => {
      const along = rows[1](column);
      return rows[0](row).flatMap((weight, down) =>
        along.map((other, at): [number[], bigint] => [[down, at], weight * other]),
      );
    };
  } else {
    const quadrant = weightsIn(parts, "quadrant", box[0], box[1]);
    const noise = tableMoves(quadrant);
    moved = (places, bits) => shift(places, noise(bits));
    landings = (places) =>
      [
        [1, 1],
        [1, -1],
        [-1, 1],
        [-1, -1],
      ].flatMap(([down, along]) =>
        movesIn(quadrant).map(([row, column, weight]): [number[], bigint] => [
          shift(places, [BigInt(down * row), BigInt(along * column)]),
          weight,
        ]),
      );
  }
  const weights: Row = (index) => {
    const sums = listOf(reports.size, () => 0n);
    for (const [cell, weight] of landings(placesOf(index))) sums[outputOf(cell)] += weight;
    return sums;
  };
  const draw = (index: number, bits: Bits): number => outputOf(moved(placesOf(index), bits));
  return {
    ...finite(alphabet, metric(alphabet, epsilon), draw, reports),
    weights,
    isSteady: isTaxicab && !reports.hasHoles,
  };
}

/** Cells within the radius of the true one have the weight d, all others n. */
function planarSquareWave(parts: Parts): Mechanism {
  const { table } = parts;
  const plane = planeIn(parts);
  const { rows, columns, first } = plane;
  const epsilon = epsilonIn(parts);
  const radius = table.number("radius");
  if (!(radius >= 0 && radius < Math.max(rows, columns)) || Math.min(rows, columns) < 2) table.bad("radius");
  const reach = Math.floor(radius);
  const side = 2 * reach + 1;
  const box = [rows + 2 * reach, columns + 2 * reach];
  const reports = planeOf({ rows: box[0], columns: box[1], first: first.map((one) => one - reach) as unknown as Cell });
  // Places of the disc's cells from the corner of the square around it.
  const disc = listOf(side * side, (place) => [Math.floor(place / side), place % side])
    .filter(([down, along]) => (down - reach) ** 2 + (along - reach) ** 2 <= radius * radius)
    .map(([down, along]) => down * box[1] + along);
  const start = (index: number): number => {
    const [row, column] = plane.at(index);
    return (row - first[0]) * box[1] + column - first[1];
  };
  const { n, d } = ratioAbove(ofDouble(epsilon));
  const isAny = drawingFrom(() => [BigInt(disc.length) * (d - n), BigInt(reports.size) * n]);
  const draw = (index: number, bits: Bits): number => {
    const any = isAny(bits);
    const [inside, anywhere] = [below(disc.length, bits), below(reports.size, bits)]; // both, so that time does not tell which
    return any ? anywhere : start(index) + disc[inside];
  };
  return {
    ...finite(plane, local(epsilon), draw, reports),
    weights: (index) => listOf(reports.size, (z) => (disc.includes(z - start(index)) ? d : n)),
  };
}

function exponential(parts: Parts): Mechanism {
  const { alphabet } = parts;
  requireFinite(parts);
  const { size, shape } = alphabet;
  const epsilon = epsilonIn(parts, alphabet.spacing);
  const ratio = ratioAbove(over(rateOf(epsilon, alphabet), 2n));
  const plane = alphabet as Plane;
  const isLine = shape === "line" && !(alphabet as Line).positions;
  const isSmall = size <= LARGEST_TABLE;
  let row: Row;
  let moved: ((index: number, bits: Bits) => Value) | undefined;
  if (isLine && !isSmall) {
    const noise = twoSided(ratio);
    moved = (index, bits) => Number(BigInt(alphabet.at(index) as number) + noise(bits));
  } else if (isLine || shape === "words" || (shape === "circle" && isSmall)) {
    // Powers of one ratio, where distances are whole numbers of steps.
    const steps = (gap: number): number =>
      isLine ? gap : shape === "words" ? Number(gap > 0) : Math.min(gap, size - gap);
    row = (index) => {
      const each = powers(ratio, shape === "words" ? 2 : size);
      return listOf(size, (z) => each[steps(Math.abs(z - index))]);
    };
  } else if (shape === "plane") {
    const quadrant = weightsIn(parts, "quadrant", plane.rows, plane.columns);
    if (isSmall) {
      row = (index) => {
        const [down, along] = plane.at(index);
        return asIntegers(
          listOf(size, plane.at).map((cell) => quadrant[Math.abs(cell[0] - down)][Math.abs(cell[1] - along)]),
        );
      };
    } else {
      const noise = tableMoves(quadrant);
      moved = (index, bits) => {
        const move = noise(bits);
        return plane.at(index).map((part, axis) => part + Number(move[axis]));
      };
    }
  } else {
    const rows = weightsIn(parts, "rows", size, size);
    row = (index) => asIntegers(rows[index]);
  }
  const draw = moved
    ? (index: number, bits: Bits) => {
        // Again until a value is hit.
        for (;;) {
          const found = alphabet.locate(moved(index, bits));
          if (found >= 0) return found;
        }
      }
    : drawing(row!);
  return {
    ...finite(alphabet, metric(alphabet, epsilon), draw),
    weights: row!,
    alike: shape === "words" ? epsilon / 2 : 0,
  };
}

/** The exponential mechanism, whose reports are preferred as the survey says. */
function blahutArimoto(parts: Parts): Mechanism {
  const { table, alphabet } = parts;
  const { size } = alphabet;
  const { guarantee, weights } = exponential(parts);
  if (table.states("prior")) table.list("prior", isNumber, size);
  const reported = table.list<number>("reported", isCount, size);
  if (size > LARGEST_TABLE || !reported.some(Boolean)) table.bad("reported");
  const row: Row = (index) => weights!(index).map((weight, z) => weight * BigInt(reported[z]));
  return { ...finite(alphabet, guarantee, drawing(row)), weights: row };
}

// Mechanisms made of others.

function isFinitely(mechanism: Mechanism): mechanism is Finite {
  return mechanism.draw !== undefined;
}

function inner({ table, numbers }: Parts, key: string, alphabet: Alphabet): Finite {
  const mechanism = mechanismIn(table.table(key), alphabet, numbers);
  return isFinitely(mechanism) ? mechanism : table.bad(key);
}

const productOf = ({ names }: Attributes, parts: Guarantee[]): Guarantee => ({
  kind: "product",
  names,
  parts: parts as Single[],
});

function product(parts: Parts): Mechanism {
  const alphabet = shaped<Attributes>(parts, "several");
  const each = alphabet.names.map((name, index) => inner(parts, name, alphabet.alphabets[index]));
  const reports = attributesOf(
    alphabet.names,
    each.map((one) => one.reports),
  );
  const together = (promise: (one: Finite) => Guarantee): Guarantee => productOf(alphabet, each.map(promise));
  const blurred = (value: Value, bits: Bits): Value => {
    const own = alphabet.pieces(value).map((part, index) => indexOf(alphabet.alphabets[index], part)); // all, before one is blurred
    return each.flatMap((one, index) => one.reports.at(one.draw(own[index], bits)) as string);
  };
  return {
    reports,
    each,
    guarantee: together((one) => one.guarantee),
    // One part with a permanent round is enough to need a secret, with which the noise of the others is permanent too.
    ...(each.some((one) => one.lasting) && { lasting: together((one) => one.lasting ?? one.guarantee) }),
    report: (value, bits) => blurred(value, bits) as Json,
    draw: (index, bits) => reports.locate(blurred(alphabet.at(index), bits)),
    weights: (index) => {
      const own = alphabet
        .pieces(alphabet.at(index))
        .map((part, at) => each[at].weights!(alphabet.alphabets[at].locate(part)));
      return own.reduce((all, one) => all.flatMap((weight) => one.map((other) => weight * other)));
    },
  };
}

function remapped(parts: Parts): Mechanism {
  const { table, alphabet } = parts;
  const { guarantee, lasting, draw, reports, weights } = inner(parts, "mechanism", alphabet);
  const outputs = alphabetIn(table.table("outputs")) as Line;
  const { low, high } = reports as Line;
  let remap = (output: number): number => clamp(BigInt(output + low - outputs.low), outputs.size);
  const isLine = reports.shape === "line" && outputs.shape === "line" && reports.spacing === outputs.spacing;
  if (!Number.isSafeInteger(outputs.size)) table.bad("outputs");
  if (table.states("mapping") || !isLine) {
    const [from, key] = table.states("mapping")
      ? ([table, "mapping"] as const)
      : ([numbersOf(parts), "nearest"] as const);
    const mapping = outputsIn(from, key, reports.size, outputs.size);
    remap = (output) => mapping[output];
  } else if (low > outputs.high || high < outputs.low) table.bad("outputs");
  return {
    ...finite(alphabet, guarantee, (index, bits) => remap(draw(index, bits)), outputs),
    lasting,
    weights:
      weights &&
      ((index) => {
        const sums = listOf(outputs.size, () => 0n);
        weights(index).forEach((weight, output) => (sums[remap(output)] += weight));
        return sums;
      }),
  };
}

/** A permanent round, and a fresh one of what it reports. */
function twoRounds(parts: Parts): Mechanism {
  const { table, alphabet, numbers } = parts;
  const first = mechanismIn(table.table("permanent"), alphabet, numbers);
  const second = mechanismIn(table.table("fresh"), first.reports ?? alphabet, numbers);
  if (first.lasting || second.lasting) table.bad("fresh");
  const lasting = first.guarantee;
  if (first.bits && second.bits) {
    const { keep, flip, again } = second.bits;
    const reach = minus(keep, flip);
    const [own, other] = [first.bits.keep, first.bits.flip].map((p) => plus(flip, times(reach, p)));
    const guarantee = local(encodingEpsilon(own, other));
    const report = (value: Value, bits: Bits): Json =>
      again(
        Array.from(first.report(value, bits) as string, (bit) => bit === "1"),
        bits.fresh ?? bits,
      );
    return { lasting, guarantee, report };
  }
  if (!isFinitely(first) || !isFinitely(second)) return table.bad("permanent");
  const draw = (index: number, bits: Bits): number => second.draw(first.draw(index, bits), bits.fresh ?? bits);
  return { ...finite(alphabet, ofOneReport(first, second, alphabet), draw, second.reports), lasting };
}

/** Products of weights up to which the promise of one report is the smallest that all of them keep. */
const MOST_PRODUCTS = 2 ** 14;

/** Values up to which Python lists them, and two rounds of alike rows are one. */
const MOST_LISTED = 2 ** 26;

/** The log-ratio of two rounds of such log-ratios, of two values and others, rounded up. */
const amplified = (a: number, b: number, others: number): number =>
  Math.log1p((Math.expm1(a) * Math.expm1(b)) / (Math.exp(a) + Math.exp(b) + others)) * (1 + 1e-13);

/** What one report of two rounds promises, as Python's TwoRounds says it and why. */
function ofOneReport(one: Finite, two: Finite, alphabet: Alphabet): Guarantee {
  const [first, second] = [one.guarantee, two.guarantee];
  const { names, alphabets } = alphabet as Attributes;
  const { each } = two;
  if (one.each && each && String(names) === String((two.reports as Attributes).names)) {
    return productOf(
      alphabet as Attributes,
      one.each.map((part, index) => ofOneReport(part, each[index], alphabets[index])),
    );
  }
  if (first.kind === "product") return first;
  const { size } = alphabet;
  if (one.alike && two.alike && size <= MOST_LISTED) return local(amplified(one.alike, two.alike, size - 2));
  const a = first.epsilon;
  const b = second.kind === "product" ? Infinity : second.epsilon;
  let epsilon = a;
  if (first.kind === "metric") {
    if (second.kind === "local") epsilon = a * Math.tanh(b / 2) * (1 + 1e-13) || a;
    else if (one.isSteady) epsilon = b;
  } else if (size * one.reports.size * two.reports.size <= MOST_PRODUCTS) {
    const fresh = listOf(one.reports.size, two.weights!);
    const totals = fresh.map(total);
    // Shares over one power of two, each off by less than its 2^-250th part: exact ones would have millions of bits.
    const shift = BigInt(256 + Math.max(...totals.map(bitLength)));
    const shares = fresh.map((row, y) => row.map((weight) => (weight << shift) / totals[y]));
    const permanent = listOf(size, one.weights!);
    epsilon = smallestEpsilon(
      permanent.map((row) => shares[0].map((_, z) => total(row.map((weight, y) => weight * shares[y][z])))),
    );
  } else if (second.kind === "local") epsilon = Math.min(b, amplified(a, b, 0));
  return { ...first, epsilon: epsilon < a ? epsilon : a }; // also where it overflows
}

const KINDS: Record<string, (parts: Parts) => Mechanism> = {
  "randomized-response": randomizedResponse,
  rappor,
  "optimized-unary": optimizedUnary,
  "subset-selection": subsetSelection,
  "local-hashing": localHashing,
  unary,
  "square-wave": squareWave,
  "hadamard-response": hadamardResponse,
  "projective-geometry": projectiveGeometry,
  "planar-square-wave": planarSquareWave,
  "one-bit-mean": oneBitMean,
  "truncated-geometric": (parts) => truncatedLine(parts, false),
  geometric: (parts) => unboundedLine(parts, 1),
  "truncated-laplace": (parts) => truncatedLine(parts, true),
  laplace: (parts) => unboundedLine(parts, 65536),
  exponential,
  "blahut-arimoto": blahutArimoto,
  "wrapped-geometric": wrappedGeometric,
  "truncated-taxicab": (parts) => truncatedPlane(parts, true),
  taxicab: (parts) => unboundedPlane(parts, "taxicab"),
  "truncated-planar-geometric": (parts) => truncatedPlane(parts, false),
  "planar-geometric": (parts) => unboundedPlane(parts, "geometric"),
  "truncated-planar-laplace": (parts) => truncatedPlane(parts, false),
  "planar-laplace": (parts) => unboundedPlane(parts, "laplace"),
  matrix,
  product,
  remapped,
  "two-rounds": twoRounds,
};

export function mechanismIn(table: Table, alphabet: Alphabet, numbers: Table): Mechanism {
  return table.build(KINDS, { table, alphabet, numbers });
}
