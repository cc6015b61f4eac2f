/** Random bytes, and exact coins, whole numbers and outcomes made of them, as docs/device.md specifies. */
import { refuse } from "./errors.js";
import { bitLength, countUntil, listOf, type Digits } from "./exact.js";
import { hex, hmac, utf8 } from "./sha256.js";

/** A supply of random bytes. */
export interface Bits {
  /** The next byte. */
  octet(): number;
  /** Where a fresh round of noise takes its bytes, if these are permanent. */
  readonly fresh?: Bits;
}

const POOL = 1024;

/** Bytes of each block that are kept to see whether the next block has the same; they decide nothing else. */
const MARK = 16;

/** Whether 16 bytes, counted from the first on by sixteens, stand once more behind: by chance in one block of 2^112. */
function isRepeating(octets: Uint8Array): boolean {
  for (let place = 0; place <= POOL; place += MARK) {
    for (let other = place + 1; other <= POOL + MARK; other++) {
      let same = 0;
      while (octets[place + same] === octets[other + same]) if (++same === MARK) return true;
    }
  }
  return false;
}

/** The platform's cryptographic generator, read in blocks; a byte is forgotten when it is taken. */
export function secureBits(): Bits {
  let pool = new Uint8Array(0);
  let place = 0;
  let mark = pool; // none before the first block: nothing is compared that was not drawn
  const refill = (): void => {
    const fresh = new Uint8Array(MARK + POOL + MARK);
    const middle = fresh.length / 2;
    try {
      // In two calls, so that a generator that always gives the same is seen at once.
      globalThis.crypto.getRandomValues(fresh.subarray(0, middle));
      globalThis.crypto.getRandomValues(fresh.subarray(middle));
    } catch (error) {
      refuse("entropy", `The random generator fails: ${error}`);
    }
    fresh.set(mark);
    // A generator that is stuck, or a stand-in that does nothing, would report the truth.
    if (isRepeating(fresh)) refuse("entropy", "The random generator repeats itself.");
    mark = fresh.slice(-MARK);
    pool = fresh.subarray(MARK, MARK + POOL);
    place = 0;
  };
  return {
    octet: () => {
      if (place === pool.length) refill();
      const octet = pool[place];
      pool[place++] = 0;
      return octet;
    },
  };
}

/** The one generator of this device; one alone notices when it repeats itself. */
export const device = secureBits();

/** Random hexadecimal digits, two a byte. */
export function randomHex(octets: number): string {
  return hex(listOf(octets, device.octet));
}

/** The tape of permanent noise: HMAC-SHA-256 over what names the survey and the value, block by block. */
export function permanentBits(secret: Uint8Array, name: string, fresh: Bits): Bits {
  const message = utf8(`confide permanent 1${name}\0`);
  const counter = new Uint8Array(8);
  let block = new Uint8Array(0) as Uint8Array;
  let place = 0;
  return {
    fresh,
    octet: () => {
      if (place === block.length) {
        block = hmac(secret, message, counter);
        for (place = 0; !++counter[place]; ) place++; // counts on, the lowest byte first
        place = 0;
      }
      return block[place++];
    },
  };
}

/** So many bytes as a number, the lowest first. */
function octets(count: number, bits: Bits): bigint {
  let drawn = 0;
  let high = 0;
  // In two numbers of four bytes each, for BigInt is slow.
  for (let place = 0; place < count; place++) {
    if (place < 4) drawn += bits.octet() * 2 ** (8 * place);
    else high += bits.octet() * 2 ** (8 * place - 32);
  }
  return (BigInt(high) << 32n) | BigInt(drawn);
}

/** A word: eight bytes. */
export const word = (bits: Bits): bigint => octets(8, bits);

/** A coin of a probability between 0 and 1: compares drawn bits, first 4, then 8, then words, with its own behind the first `seen`. */
export type Coin = (drawn: bigint | number, seen: number) => number;

/** A coin given by the leading bits of its probability: 1 is heads, -1 tails, and 0 open. */
export function coinOf(digits: Digits): Coin {
  const firsts = [digits(4), digits(12)].map(Number);
  return (drawn, seen) => {
    const own = seen > 4 ? BigInt.asUintN(64, digits(seen + 64)) : seen ? firsts[1] & 255 : firsts[0];
    return drawn < own ? 1 : drawn > own ? -1 : 0;
  };
}

/** Tosses coins together: half a byte for each, a byte for those still open, then words. */
export function toss(coins: readonly Coin[], bits: Bits): boolean[] {
  let octet = 0;
  const heads = coins.map((coin, place) => {
    octet = place & 1 ? octet >> 4 : bits.octet();
    return coin(octet & 15, 0);
  });
  heads.forEach((head, place) => head || (heads[place] = coins[place](bits.octet(), 4)));
  heads.forEach((head, place) => head || (heads[place] = coins[place](word(bits), 12)));
  heads.forEach((_, place) => {
    for (let seen = 76; !heads[place]; seen += 64) heads[place] = coins[place](word(bits), seen);
  });
  return heads.map((head) => head > 0);
}

/** A whole number below n, each as likely, by the upper bits of 1, 2, 4 or 8 bytes; n is at most 2^53. */
export function below(n: number, bits: Bits): number {
  if (n === 1) return 0;
  const width = bitLength(n - 1);
  const count = width > 32 ? 8 : width > 16 ? 4 : width > 8 ? 2 : 1;
  for (;;) {
    const number = Number(octets(count, bits) >> BigInt(8 * count - width));
    if (number < n) return number;
  }
}

/**
 * Draws one of several outcomes by integer weights. These are made again in the rare case of a tie, so that thousands
 * of long integers need not be kept.
 */
export function drawingFrom(make: () => bigint[]): (bits: Bits) => number {
  const bounds = sums(make());
  const total = bounds.pop()!;
  // The leading 64 bits of each bound C_j / W but the last; all ones where all that follows weighs nothing.
  const leading = BigUint64Array.from(bounds, (bound) => (bound < total ? (bound << 64n) / total : (1n << 64n) - 1n));
  return (bits) => {
    if (!leading.length) return 0;
    const u = word(bits);
    const first = countUntil(leading.length, (place) => leading[place] < u);
    return leading[first] === u ? settle(sums(make()), u, bits) : first;
  };
}

/** Adds words to u until no bound lies strictly inside [u, u + 1) / 2^precision. */
function settle(bounds: bigint[], u: bigint, bits: Bits): number {
  const total = bounds.at(-1)!;
  for (let precision = 64n; ; precision += 64n) {
    const atMost = bounds.filter((bound) => bound << precision <= u * total).length;
    const under = bounds.filter((bound) => bound << precision < (u + 1n) * total).length;
    if (atMost === under) return atMost;
    u = (u << 64n) | word(bits);
  }
}

function sums(weights: readonly bigint[]): bigint[] {
  let sum = 0n;
  return weights.map((weight) => (sum += weight));
}
