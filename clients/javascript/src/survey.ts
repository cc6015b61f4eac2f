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

/** A noisy report, ready to be shown and queued. Only `survey.blur` makes one, so that no true value is sent by mistake. */
export class Report {
  /** Fingerprint of the survey, as messages carry it. */
  readonly survey: string;
  /** The report itself: all that is sent. */
  readonly data: Json;
  /** Names the value of permanent noise without telling it: repeated, it costs nothing more. Stays on the device. */
  readonly tag: string | null;

  /** @internal */
  constructor(survey: string, data: Json, tag: string | null, key: symbol) {
    if (key !== OWN) refuse("report", "Reports are made by survey.blur(value).");
    this.survey = survey;
    this.data = data;
    this.tag = tag;
    Object.freeze(this);
  }

  toJSON(): Json {
    return this.data;
  }

  toString(): string {
    return typeof this.data === "string" ? this.data : JSON.stringify(this.data);
  }
}

const OWN = Symbol("made by a survey");

const KNOWN = ["name", "title", "shape", "alphabet", "mechanism", "limits", "groups", "tables", "fingerprint"];

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
    const document = new Table(readJson(given), "").only(...KNOWN);
    const stated = document.text("fingerprint");
    this.fingerprint = checkFingerprint(document, stated);
    if (pin && "fingerprint" in pin && pin.fingerprint !== stated) {
      refuse("pin", `This application was reviewed with the survey ${shown(pin.fingerprint)}; this one is ${shown(stated)}.`);
    }
    this.name = document.text("name", "value");
    this.title = document.text("title", "Untitled survey");
    this.#alphabet = alphabetIn(document.table("alphabet"));
    const tables = new Table(document.get("tables") ?? {}, "");
    this.#mechanism = mechanismIn(document.table("mechanism"), this.#alphabet, tables);
    const keys = Object.entries(tables.entries).flatMap(([place, own]) => Object.keys(own ?? {}).map((key) => `${place} ${key}`));
    if (String(keys.sort()) !== String(tables.used.sort()) || (document.get("tables") && !keys.length)) document.bad("tables", keys);
    this.guarantee = this.#mechanism.guarantee;
    this.lasting = this.#mechanism.lasting ?? null;
    const limits = new Table(document.get("limits") ?? {}, "limits").only("reports", "epsilon", "noise");
    this.limits = {
      reports: limits.get("reports") === undefined ? null : limits.whole("reports", 1),
      epsilon: limits.get("epsilon") === undefined ? null : limits.positive("epsilon"),
    };
    const noise = limits.text("noise", "fresh");
    if (noise !== "permanent" && noise !== "fresh") limits.bad("noise", noise);
    this.isPermanent = noise === "permanent" || this.lasting !== null;
    this.pin = pin;
    if (pin && "epsilon" in pin) this.#checkPin(pin, document.get("tables") !== undefined);
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
  blur(value: Value, options: BlurOptions = {}): Report {
    indexOf(this.#alphabet, value); // before any random number is drawn
    if (options.permanent === undefined) {
      if (this.isPermanent && this.#bits === device) refuse("secret", "This survey asks for permanent noise: give the person's secret as permanent.");
      return new Report(this.fingerprint, this.#mechanism.report(value, this.#bits), null, OWN);
    }
    const secret = secretOf(options.permanent);
    const bits = new PermanentBits(secret, this.fingerprint, value as Json, this.#bits);
    const named = utf8(`confide ledger 1\0${this.fingerprint}\0${canonical(value as Json)}`);
    return new Report(this.fingerprint, this.#mechanism.report(value, bits), hex(hmac(secret, named)).slice(0, 32), OWN);
  }

  /** Every value as a person may be shown it, where there are few enough to choose from. */
  choices(most = 1000): { value: Value; label: string }[] {
    const { size, at, label = String } = this.#alphabet;
    return Array.from({ length: size > most ? 0 : size }, (_, index) => ({ value: at(index), label: label(at(index)) }));
  }

  #checkPin(pin: Exclude<Pin, { fingerprint: string }>, hasTables: boolean): void {
    if (typeof pin.epsilon !== "number" || !(pin.epsilon > 0)) refuse("pin", "A pinned epsilon is a number above 0.");
    if (hasTables) {
      refuse("pin", "This survey comes with tables of weights, and no promise can be read off a table: pin its whole fingerprint.");
    }
    const guarantee = this.lasting ?? this.guarantee;
    const asked = terms(guarantee);
    const given = `${pin.epsilon}${pin.per === undefined ? " for any two values" : ` per ${pin.per || "unit of distance"}`}`;
    const more = (why: string): never => refuse("pin", `This survey asks for ${asked}, and the application gives at most ${given}: ${why}.`);
    if (pin.per === undefined) {
      const epsilon = together(guarantee);
      if (epsilon === null) return more("it promises by distance. Pin a fingerprint, or epsilon with per");
      if (!(epsilon <= pin.epsilon)) more("that is more");
      return;
    }
    if (guarantee.kind !== "metric" || guarantee.unit !== pin.per) return more("these are counted in different units");
    if (guarantee.epsilon > pin.epsilon) more("that is more");
    // Whoever says how far apart values lie says what epsilon means: twice as far apart is twice the epsilon.
    const { isTrue, spacing, positions } = this.#alphabet as Line;
    if (isTrue) return;
    if (positions || spacing > (pin.spacing ?? 1)) more("it says itself how far apart its values lie. Pin its fingerprint, or spacing too");
  }
}

/** Recomputes a survey's fingerprint, without knowing what its keys mean. */
function checkFingerprint(document: Table, stated: string): string {
  const { tables, ...rest } = document.entries;
  for (const key of ["name", "title", "fingerprint"]) delete rest[key];
  const own = digest(canonical(rest));
  const found = tables === undefined ? own : `${own}-${digest(canonical(tables))}`;
  if (stated !== found) refuse("fingerprint", `The survey states the fingerprint ${shown(stated)}, and its content has ${found}: one was changed.`);
  return own;
}

const LEAST_SECRET = 16;

function secretOf(secret: Uint8Array | string): Uint8Array {
  let octets: Uint8Array | null = null;
  if (secret instanceof Uint8Array) octets = secret;
  else if (typeof secret === "string" && /^[0-9a-fA-F]+$/.test(secret)) {
    if (secret.length % 2) refuse("secret", "Hexadecimal digits of a secret come in pairs.");
    octets = Uint8Array.from(secret.match(/../g)!, (pair) => parseInt(pair, 16));
  } else if (typeof secret === "string") octets = utf8(secret);
  if (octets === null || octets.length < LEAST_SECRET) {
    return refuse("secret", `A secret is at least ${LEAST_SECRET} bytes, or 32 hexadecimal digits.`);
  }
  return octets;
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
  if (pin !== undefined && !("fingerprint" in pin) && !("epsilon" in pin)) {
    refuse("pin", "A pin has a fingerprint or an epsilon.");
  }
  return new Survey(json, pin ?? null, device);
}

/** For tests and simulations alone: the same survey with random bytes of your own, which promises nobody anything. */
export function simulatedSurvey(json: unknown, octet: () => number): Survey {
  return new Survey(json, null, { octet });
}
