/** SHA-256 and HMAC (FIPS 180-4, RFC 2104), synchronous, which the browser's own are not. */
import { padded } from "./dates.js";

const K = new Uint32Array(64);
const START = new Uint32Array(8);

// The constants are the first 32 bits of the fractions of cube and square roots of primes; float64 has 17 more.
for (let prime = 2, count = 0; count < 64; prime++) {
  let part = 2;
  while (prime % part) part++;
  if (part < prime) continue;
  if (count < 8) START[count] = (Math.sqrt(prime) % 1) * 2 ** 32;
  K[count++] = (Math.cbrt(prime) % 1) * 2 ** 32;
}

export function sha256(...parts: Uint8Array[]): Uint8Array {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const blocks = new Uint8Array(((length + 72) >> 6) << 6);
  let place = 0;
  for (const part of parts) {
    blocks.set(part, place);
    place += part.length;
  }
  blocks[length] = 0x80;
  const view = new DataView(blocks.buffer);
  view.setBigUint64(blocks.length - 8, BigInt(length) * 8n);
  const state = START.slice();
  const w = new Uint32Array(64);
  for (let block = 0; block < blocks.length; block += 64) {
    for (let i = 0; i < 64; i++) {
      const x = w[i - 15];
      const y = w[i - 2];
      w[i] =
        i < 16
          ? view.getUint32(block + 4 * i)
          : w[i - 16] + w[i - 7] + (turn(x, 7) ^ turn(x, 18) ^ (x >>> 3)) + (turn(y, 17) ^ turn(y, 19) ^ (y >>> 10));
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0;
      const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, index) => (state[index] += word));
  }
  state.forEach((word, index) => view.setUint32(4 * index, word)); // over what is read no more
  return blocks.slice(0, 32);
}

function turn(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

export function hmac(key: Uint8Array, ...message: Uint8Array[]): Uint8Array {
  const block = new Uint8Array(64);
  block.set(key.length > 64 ? sha256(key) : key);
  const masked = (mask: number): Uint8Array => block.map((octet) => octet ^ mask);
  return sha256(masked(0x5c), sha256(masked(0x36), ...message));
}

const encoder = new TextEncoder();

export function utf8(text: string): Uint8Array {
  return encoder.encode(text);
}

export function hex(octets: Uint8Array | number[]): string {
  return Array.from(octets, (octet) => padded(octet.toString(16))).join("");
}

/** The first 32 hexadecimal digits of a hash: what fingerprints are. */
export const short = (hash: Uint8Array): string => hex(hash).slice(0, 32);

export const digest = (text: string): string => short(sha256(utf8(text)));
