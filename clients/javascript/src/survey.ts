/** A survey: the contract between a person's device and the curator, read with suspicion. */
import { alphabetIn, indexOf, type Alphabet, type Line, type Value } from "./alphabets.js";
import { device, permanentBits, randomHex, type Bits } from "./bits.js";
import { isCount, isNumber, isTable, isText, refuse, shown } from "./errors.js";
import { listOf } from "./exact.js";
import { canonical, HALVES, readJson, tableOf, type Json, type Table } from "./json.js";
import { mechanismIn, type Guarantee, type Mechanism } from "./mechanisms.js";
import { promiseOf, terms, together, total } from "./promise.js";
import { digest, hmac, short, utf8 } from "./sha256.js";
import { isMissing } from "./words.js";

/** What an application was reviewed with: one survey by its fingerprint, or the most that it will give away. */
export type Pin =
  | {
      /** The whole fingerprint that `confide export` prints. */
      fingerprint: string;
      epsilon?: undefined;
    }
  | {
      fingerprint?: undefined;
      /** The largest epsilon of one report. */
      epsilon: number;
      /** The unit of distance that it is per, such as "year"; left out, epsilon is for any two values. */
      per?: string;
      /** How far apart neighbours may lie in that unit, where the survey says so itself; 1 if left out. */
      spacing?: number;
      /** How many reports this device makes under this pin, of all surveys together. */
      reports?: number;
    };

type Bound = Exclude<Pin, { fingerprint: string }>;

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
  /** What stands beside a report, not blurred: names, and the values that each may have. */
  readonly groups: Record<string, readonly string[]>;
  /** Whether noise must be permanent, so that blurring needs a secret. */
  readonly isPermanent: boolean;
  readonly pin: Pin | null;
  readonly #alphabet: Alphabet;
  readonly #mechanism: Mechanism;
  readonly #bits: Bits;

  /** @internal */
  constructor(given: unknown, pin: Pin | null, bits: Bits) {
    const document = tableOf(readJson(given), "");
    const stated = document.text("fingerprint");
    const { tables: weights, name, title, language, fingerprint, ...rest } = document.content;
    this.fingerprint = digest(canonical(rest)); // without knowing what its keys mean
    const found = this.fingerprint + (weights === undefined ? "" : `-${digest(canonical(weights))}`);
    if (stated !== found) refuse("fingerprint", `The survey is ${found}, and says ${shown(stated)}.`);
    const pinned = pin?.fingerprint ?? null;
    if (pinned !== null && pinned !== stated) refuse("pin", `Pinned is ${shown(pinned)}; the survey is ${stated}.`);
    const called = (key: string, otherwise: string): string => {
      const found = document.get(key) ?? otherwise; // which may be stated
      return isText(found) && !isMissing(found) ? found : document.bad(key);
    };
    this.name = called("name", "value");
    this.title = called("title", "Untitled survey");
    this.#alphabet = alphabetIn(document.table("alphabet"));
    const tables = document.optional("tables");
    this.#mechanism = mechanismIn(document.table("mechanism"), this.#alphabet, tables);
    this.guarantee = this.#mechanism.guarantee;
    this.lasting = this.#mechanism.lasting ?? null;
    const every = this.lasting ?? this.guarantee; // no report tells more than all of one value
    if (bits === device && !(total(every) < Infinity)) document.bad("mechanism"); // it may report the truth
    const limits = document.optional("limits");
    this.limits = {
      reports: !limits.states("reports") ? null : limits.whole("reports", 1),
      epsilon: !limits.states("epsilon") ? null : limits.positive("epsilon"),
    };
    // A total epsilon needs a promise with one epsilon, and allows one report at least.
    const most = this.limits.epsilon;
    if (most !== null && (every.kind === "product" || every.epsilon > most)) limits.bad("epsilon");
    const noise = limits.get("noise");
    if (noise !== "permanent" && noise !== undefined) limits.bad("noise");
    this.isPermanent = !!noise || this.lasting !== null;
    this.groups = groupsIn(document.optional("groups"));
    document.get("shape"); // the curator's, not the device's
    document.get("simulated"); // likewise: of a survey that made-up people answer
    document.get("shuffler"); // likewise: who mixes the reports
    document.get("every"); // likewise: how often it asks the same people
    document.get("results"); // likewise: who may see them
    document.get("language"); // of pages
    document.finish();
    this.pin = pin;
    if (bits === device && pinned === null) this.#checkPin(pin as Bound | null, weights);
    this.#bits = bits;
  }

  /** The promise in sentences: as a formula, in odds, and what becomes of it when a person reports again. */
  get promise(): string[] {
    return promiseOf(this, this.#alphabet);
  }

  /** Turns what a person has (a word, a number, a date, a place) into a value, or throws with the reason. */
  take(raw: unknown): Value {
    return this.#alphabet.accept(raw);
  }

  /** Blurs a value. Where this throws there is no report. */
  blur(value: Value, options: BlurOptions = {}): Report {
    indexOf(this.#alphabet, value); // before any random number is drawn
    const { fingerprint } = this;
    let bits = this.#bits;
    let tag: string | null = null;
    // Whoever says anything means permanent noise: fresh noise in its place would be averaged out.
    const stated = isTable(options) ? String(Object.keys(options)) : "?";
    if (stated || (this.isPermanent && bits === device)) {
      const secret = secretOf(stated === "permanent" ? options.permanent : null);
      const name = `\0${fingerprint}\0${canonical(value as Json)}`;
      bits = permanentBits(secret, name, bits);
      tag = short(hmac(secret, utf8(`confide ledger 1${name}`)));
    }
    const data = Object.freeze(this.#mechanism.report(value, bits)) as Json; // a list too: what was shown is what is sent
    const report: Report = Object.freeze({ survey: fingerprint, data, tag });
    if (this.#bits === device) made.add(report); // none that was simulated
    return report;
  }

  /** Every value as a person may be shown it, where there are few enough to choose from. */
  choices(most = 1000): { value: Value; label: string }[] {
    const { size, at, caption = String } = this.#alphabet;
    return listOf(size > most ? 0 : size, (index) => ({ value: at(index), label: caption(at(index)) }));
  }

  #checkPin(pin: Bound | null, tables: unknown): void {
    const guarantee = this.lasting ?? this.guarantee;
    const { distances, spacing, positions } = this.#alphabet as Line;
    const no = (why: string): never => refuse("pin", `This survey asks for ${terms(guarantee)}: ${why}.`);
    const unproven = "unproven here; pin its whole fingerprint";
    // No promise can be read off a table, which may report the truth: it is taken as it was reviewed, or not at all.
    if (tables) no(unproven);
    if (!pin) return;
    const { epsilon: most, per, spacing: farthest = 1 } = pin;
    const isLocal = per === undefined;
    // Nor can a distance of what people have off the ground or the middles of bins.
    if (!isLocal && distances === "unproven") no(unproven);
    const epsilon = isLocal
      ? together(guarantee)
      : guarantee.kind === "metric" && guarantee.unit === per
        ? guarantee.epsilon
        : null;
    if (epsilon === null) return no("epsilon is pinned in another unit");
    if (!(epsilon <= most)) no(`at most ${most} is pinned`);
    // Whoever says how far apart values lie says what epsilon means: twice as far apart is twice the epsilon.
    if (!isLocal && !distances && (positions || !(spacing <= farthest))) no("its spacing is more than is pinned");
  }
}

function groupsIn(table: Table): Record<string, string[]> {
  const named = Object.keys(table.content).map((name): [string, string[]] => {
    const values = table.list<string>(name, (one) => isText(one) && one !== "");
    const isOne = !isMissing(name) && !["day", "count"].includes(name) && values.length > 1;
    return isOne && new Set(values).size === values.length ? [name, values] : table.bad(name);
  });
  return Object.fromEntries(named);
}

const LEAST_SECRET = 16;

function secretOf(given: unknown): Uint8Array {
  let found = given;
  if (isText(given)) {
    const text = given.replace(/\r?\n?$/, ""); // a line end, as files have it
    if (/^[0-9a-f]*$/i.test(text))
      found = text.length % 2 < 1 && Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
    else found = !HALVES.test(text) && utf8(text);
  }
  // Zeros are a secret that was never filled.
  if (found instanceof Uint8Array && found.length >= LEAST_SECRET && found.some(Boolean)) return found;
  return refuse("secret", `Permanent noise takes { permanent: secret }, ${LEAST_SECRET} random bytes or more.`);
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
  const { fingerprint, epsilon, per, spacing, reports, ...others } = Object(pin);
  const isWhole = isText(fingerprint) && (epsilon ?? per ?? spacing ?? reports) === undefined;
  const isBound =
    isNumber(epsilon) && isText(per ?? "") && isCount(reports === undefined ? 0 : reports) && fingerprint === undefined;
  if (pin !== undefined && (Object.keys(others).length || !(isWhole || isBound))) {
    refuse("pin", `A pin has a fingerprint, or an epsilon; got ${shown(pin)}.`);
  }
  return new Survey(json, pin ?? null, device);
}

/** For tests and simulations alone: the same survey with random bytes of your own, which promises nobody anything. */
export function simulatedSurvey(json: unknown, octet: () => number): Survey {
  return new Survey(json, null, { octet });
}
