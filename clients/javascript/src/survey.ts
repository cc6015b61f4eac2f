/** A survey: the contract between a person's device and the curator, read with suspicion. */
import { alphabetIn, indexOf, type Alphabet, type Line, type Value } from "./alphabets.js";
import { device, PermanentBits, randomHex, type Bits } from "./bits.js";
import { refuse, shown } from "./errors.js";
import { canonical, readJson, Table, type Json } from "./json.js";
import { mechanismIn, type Guarantee, type Mechanism } from "./mechanisms.js";
import { promiseOf, terms, together } from "./promise.js";
import { digest, hex, hmac, utf8 } from "./sha256.js";

/** What an application was reviewed with: one survey by its fingerprint, or the most that it will give away. */
export type Pin =
  | {
      /** The whole fingerprint that `confide export` prints. */
      fingerprint: string;
    }
  | {
      /** The largest epsilon of one report. */
      epsilon: number;
      /** The unit of distance that it is per, such as "year"; left out, epsilon is for any two values. */
      per?: string;
      /** How far apart neighbours may lie in that unit, where the survey says so itself; 1 if left out. */
      spacing?: number;
      /** How many reports this device makes under this pin, of all surveys together. */
      reports?: number;
    };

export interface Limits {
  readonly reports: number | null;
  readonly epsilon: number | null;
}

export interface BlurOptions {
  /** The person's secret, 16 bytes or more (or 32 hexadecimal digits or more): the same value, the same report. */
  permanent?: Uint8Array | string;
}

/** A noisy report, ready to be shown and queued. */
export interface Report {
  /** Fingerprint of the survey, as messages carry it. */
  readonly survey: string;
  /** The report itself: all that is sent. */
  readonly data: Json;
  /** Names the value of permanent noise without telling it: repeated, it costs nothing more. Stays on the device. */
  readonly tag: string | null;
}

/** Reports that `survey.blur` made, and nothing else, so that no true value is sent by mistake. */
export const made = new WeakSet<object>();

export class Survey {
  /** What a value is called. */
  readonly name: string;
  readonly title: string;
  /** The fingerprint that reports carry. */
  readonly fingerprint: string;
  /** What one report promises. */
  readonly guarantee: Guarantee;
  /** Of two rounds, what any number of reports of one value promises. */
  readonly lasting: Guarantee | null;
  readonly limits: Limits;
  /** Whether noise must be permanent, so that blurring needs a secret. */
  readonly isPermanent: boolean;
  readonly pin: Pin | null;
  readonly #alphabet: Alphabet;
  readonly #mechanism: Mechanism;
  readonly #bits: Bits;

  /** @internal */
  constructor(given: unknown, pin: Pin | null, bits: Bits) {
    const document = new Table(readJson(given), "");
    const stated = document.text("fingerprint");
    this.fingerprint = checkFingerprint(document, stated);
    if (pin && "fingerprint" in pin && pin.fingerprint !== stated) {
      refuse("pin", `The application was reviewed with ${shown(pin.fingerprint)}; this survey is ${stated}.`);
    }
    this.name = document.text("name", "value");
    this.title = document.text("title", "Untitled survey");
    this.#alphabet = alphabetIn(document.table("alphabet"));
    const tables = document.table("tables", document.get("tables") ?? {});
    this.#mechanism = mechanismIn(document.table("mechanism"), this.#alphabet, tables);
    this.guarantee = this.#mechanism.guarantee;
    this.lasting = this.#mechanism.lasting ?? null;
    const limits = document.table("limits", document.get("limits") ?? {});
    this.limits = {
      reports: limits.get("reports") === undefined ? null : limits.whole("reports", 1),
      epsilon: limits.get("epsilon") === undefined ? null : limits.positive("epsilon"),
    };
    const noise = limits.text("noise", "fresh");
    if (!["permanent", "fresh"].includes(noise)) limits.bad("noise");
    this.isPermanent = noise === "permanent" || this.lasting !== null;
    document.get("shape"); // the curator's, not the device's
    document.get("groups");
    document.finish();
    const hasTables = document.get("tables") !== undefined;
    if (hasTables && canonical(tables.entries) === "{}") document.bad("tables");
    this.pin = pin;
    if (pin && "epsilon" in pin) this.#checkPin(pin, hasTables);
    this.#bits = bits;
  }

  /** The promise in sentences: as a formula, in odds, and what becomes of it when a person reports again. */
  get promise(): string[] {
    return promiseOf(this.guarantee, this.#alphabet, this.limits.reports);
  }

  /** Turns what a person has (a word, a number, a date, a place) into a value, or throws with the reason. */
  take(raw: unknown): Value {
    return this.#alphabet.take(raw);
  }

  /** Blurs a value. Where this throws there is no report. */
  blur(value: Value, { permanent }: BlurOptions = {}): Report {
    indexOf(this.#alphabet, value); // before any random number is drawn
    const { fingerprint } = this;
    let bits = this.#bits;
    let tag: string | null = null;
    if (permanent !== undefined) {
      const secret = secretOf(permanent);
      bits = new PermanentBits(secret, fingerprint, value as Json, bits);
      tag = hex(hmac(secret, utf8(`confide ledger 1\0${fingerprint}\0${canonical(value as Json)}`))).slice(0, 32);
    } else if (this.isPermanent && bits === device) refuse("secret", "Permanent noise needs the person's secret.");
    const data = this.#mechanism.report(value, bits);
    const report: Report = Object.freeze({ survey: fingerprint, data, tag });
    made.add(report);
    return report;
  }

  /** Every value as a person may be shown it, where there are few enough to choose from. */
  choices(most = 1000): { value: Value; label: string }[] {
    const { size, at, label = String } = this.#alphabet;
    return Array.from({ length: size > most ? 0 : size }, (_, index) => ({ value: at(index), label: label(at(index)) }));
  }

  #checkPin({ epsilon: most, per, spacing: farthest = 1 }: Exclude<Pin, { fingerprint: string }>, hasTables: boolean): void {
    const guarantee = this.lasting ?? this.guarantee;
    const { isTrue, spacing, positions } = this.#alphabet as Line;
    const no = (why: string): never =>
      refuse("pin", `This survey asks for ${terms(guarantee)}: ${why}.`);
    if (hasTables) no("its tables tell no promise; pin its whole fingerprint");
    const isLocal = per === undefined;
    const epsilon = isLocal ? together(guarantee) : guarantee.kind === "metric" && guarantee.unit === per ? guarantee.epsilon : null;
    if (epsilon === null) return no("epsilon is pinned in another unit");
    if (!(epsilon <= most)) no(`at most ${most} is pinned`);
    // Whoever says how far apart values lie says what epsilon means: twice as far apart is twice the epsilon.
    if (!isLocal && !isTrue && (positions || spacing > farthest)) no("it says itself how far apart values lie; pin spacing");
  }
}

/** Recomputes a survey's fingerprint, without knowing what its keys mean. */
function checkFingerprint(document: Table, stated: string): string {
  const { tables, ...rest } = document.entries;
  for (const key of ["name", "title", "fingerprint"]) delete rest[key];
  const own = digest(canonical(rest));
  const found = tables === undefined ? own : `${own}-${digest(canonical(tables))}`;
  if (stated !== found) refuse("fingerprint", `The survey says that it is ${shown(stated)}, and is ${found}.`);
  return own;
}

const LEAST_SECRET = 16;

function secretOf(secret: Uint8Array | string): Uint8Array {
  const isHex = typeof secret === "string" && /^([0-9a-f]{2})+$/i.test(secret);
  const octets = isHex ? Uint8Array.from(secret.match(/../g)!, (pair) => parseInt(pair, 16)) : utf8(secret as string);
  const found = secret instanceof Uint8Array ? secret : octets;
  const isOdd = typeof secret !== "object" && !isHex && /^[0-9a-f]*$/i.test(secret);
  if (found.length < LEAST_SECRET || isOdd) return refuse("secret", `A secret has ${LEAST_SECRET} bytes or more.`);
  return found;
}

/** A new secret for permanent noise: 32 random bytes in hexadecimal digits. Keep it on the device. */
export function newSecret(): string {
  return randomHex(32);
}

/**
 * Reads a survey, as `confide export survey.toml` writes it, and checks its fingerprint and the pin.
 * Anything that is not understood is refused with the reason: a device does not guess.
 */
export function loadSurvey(json: unknown, pin?: Pin): Survey {
  if (pin && !("fingerprint" in pin || "epsilon" in pin)) refuse("pin", "A pin has a fingerprint or an epsilon.");
  return new Survey(json, pin ?? null, device);
}

/** For tests and simulations alone: the same survey with random bytes of your own, which promises nobody anything. */
export function simulatedSurvey(json: unknown, octet: () => number): Survey {
  return new Survey(json, null, { octet });
}
