/** A value of a survey as it stands in JSON: a text, a number, a pair, or a list of several attributes' parts. */
type Value = string | number | readonly (string | number)[];
/** Values of a survey, numbered from 0. */
interface Alphabet {
    /** How values lie: words nowhere, numbers on a line or around a circle, cells in a plane; several of these at once. */
    readonly shape: "words" | "line" | "circle" | "plane" | "several";
    /** Number of values; Infinity where there is no end of them. */
    readonly size: number;
    /** Unit of distances. */
    readonly unit: string;
    /** Distance between neighbours, as the exact number that noise is made with. */
    readonly spacing: number;
    /** How many parts of a list a value takes. */
    readonly parts: number;
    /**
     * Whether distances follow from what people have; else they are what the survey says they are. Of places they follow from
     * the ground, and of bins from their middles, though two people on either side of an edge are near: neither is proven here.
     */
    readonly distances?: "true" | "unproven";
    /** Turns what a person has into a value, or says why it cannot. */
    accept(raw: unknown): Value;
    /** The number of a value; -1 where it is none. */
    locate(value: unknown): number;
    at(index: number): Value;
    /** What a value is called, to a person; absent where that is the value itself. */
    readonly caption?: (value: Value) => string;
}
/** Whole numbers on a line, and what is counted by them: dates, bins, words of a scale. */
interface Line extends Alphabet {
    readonly low: number;
    readonly high: number;
    /** Places of values that are not equally far apart. */
    readonly positions?: readonly Fraction[];
}
type Cell = readonly [number, number];
/** Cells of a plane, from a first one on. */
interface Plane extends Alphabet {
    readonly rows: number;
    readonly columns: number;
    readonly first: Cell;
    readonly hasHoles: boolean;
    at(index: number): Cell;
    /** Steps to a degree of latitude and of longitude, where values are coordinates. */
    readonly steps?: Cell;
}
/** Several attributes of one person; a value is the list of their parts, one after another. */
interface Attributes extends Alphabet {
    readonly names: readonly string[];
    readonly alphabets: readonly Alphabet[];
    /** The parts of a value, attribute by attribute. */
    pieces(value: unknown): Value[];
}
/** The number of a value that must be one. */
declare function indexOf(alphabet: Alphabet, value: unknown): number;
/** Whole numbers from low to high; all of them if no ends are given. */
declare function lineOf(settings: Partial<Line>): Line;
/** Cells of a box, less its holes; of all the plane, if no box is given. */
declare function planeOf(settings: Partial<Plane> & {
    holes?: number[];
}): Plane;
/** All combinations of a value of each attribute, the last one running fastest. */
declare function attributesOf(names: readonly string[], alphabets: readonly Alphabet[]): Attributes;
declare function alphabetIn(table: Table): Alphabet;
/** A supply of random bytes. */
interface Bits {
    /** The next byte. */
    octet(): number;
    /** Where a fresh round of noise takes its bytes, if these are permanent. */
    readonly fresh?: Bits;
}
/** The platform's cryptographic generator, read in blocks; a byte is forgotten when it is taken. */
declare function secureBits(): Bits;
/** The one generator of this device; one alone notices when it repeats itself. */
declare const device: Bits;
/** Random hexadecimal digits, two a byte. */
declare function randomHex(octets: number): string;
/** The tape of permanent noise: HMAC-SHA-256 over what names the survey and the value, block by block. */
declare function permanentBits(secret: Uint8Array, name: string, fresh: Bits): Bits;
/** A word: eight bytes. */
declare const word: (bits: Bits) => bigint;
/** A coin of a probability between 0 and 1: compares drawn bits, first 4, then 8, then words, with its own behind the first `seen`. */
type Coin = (drawn: bigint | number, seen: number) => number;
/** A coin given by the leading bits of its probability: 1 is heads, -1 tails, and 0 open. */
declare function coinOf(digits: Digits): Coin;
/** Tosses coins together: half a byte for each, a byte for those still open, then words. */
declare function toss(coins: readonly Coin[], bits: Bits): boolean[];
/** A whole number below n, each as likely, by the upper bits of 1, 2, 4 or 8 bytes; n is at most 2^53. */
declare function below(n: number, bits: Bits): number;
/**
 * Draws one of several outcomes by integer weights. These are made again in the rare case of a tie, so that thousands
 * of long integers need not be kept.
 */
declare function drawingFrom(make: () => bigint[]): (bits: Bits) => number;
declare const EVERY: readonly ["day", "week", "month", "quarter", "year"];
type Every = (typeof EVERY)[number];
declare const WEEKDAYS: string[];
/** The number of a day, by the browser's own calendar in UTC, which knows no offsets; null where there is none. */
declare function ordinal(year: number, month: number, day: number): number | null;
/** The number of the step that holds a day. */
declare function stepOf(day: number, every: Every): number;
/** Two digits. */
declare const padded: (number: number | string) => string;
/** A step as people write it. */
declare function labelOf(step: number, every: Every): string;
/** The step that holds all that a text names, such as the week of a day. */
declare function stepNamed(text: string, every: Every): number;
/** The step of a person's date. */
declare function stepIn(raw: unknown, every: Every): number;
declare function hourIn(raw: unknown): number;
declare function weekdayIn(raw: unknown): number;
/** Why something was refused. `code` is for programs, `message` for people. */
type Code = "survey" | "fingerprint" | "pin" | "value" | "secret" | "entropy" | "limit" | "storage" | "full" | "report";
/** An error of this client. Where one is thrown there is no report. */
declare class ConfideError extends Error {
    readonly code: Code;
    constructor(code: Code, message: string);
}
/** Throws; an expression, so that it can stand where a value is expected. */
declare function refuse(code: Code, message: string): never;
declare const isText: (value: unknown) => value is string;
declare const isNumber: (value: unknown) => value is number;
declare const isCount: (value: unknown) => value is number;
/** Whether this is an object with names, and no list. */
declare const isTable: (value: unknown) => value is Record<string, any>;
/** A value as it stands in a message: short, and with nothing that would break a line. */
declare function shown(value: unknown): string;
/** Exact arithmetic: fractions, and as many binary digits of e^-x as are asked for. No float is computed with. */
interface Fraction {
    readonly n: bigint;
    readonly d: bigint;
}
/** In lowest terms; d is positive. */
declare function fraction(n: bigint, d?: bigint): Fraction;
/** What is made of 0, 1, 2, ... */
declare const listOf: <Made>(length: number, make: (index: number) => Made) => Made[];
/** How many of 0, 1, 2, ... come before those of which something is true no more. */
declare function countUntil(length: number, isBefore: (index: number) => boolean): number;
/** How many binary digits a number has. */
declare const bitLength: (x: bigint | number) => number;
declare function gcd(a: bigint, b: bigint): bigint;
/** The exact value of a float64 number: whole, after so many doublings, which round nothing. */
declare function ofDouble(x: number): Fraction;
/** A decimal number as it is written. */
declare function ofDecimal(text: string): Fraction;
/** A float64 number as the shortest decimal that it prints as. */
declare function ofShortest(x: number): Fraction;
declare const times: (a: Fraction, b: Fraction) => Fraction;
declare const plus: (a: Fraction, b: Fraction) => Fraction;
declare const minus: (a: Fraction, b: Fraction) => Fraction;
declare const over: (a: Fraction, by: bigint) => Fraction;
/** Negative where a < b, 0 where they are equal: Number() keeps signs, and makes nothing of nothing else. */
declare const compare: (a: Fraction, b: Fraction) => number;
/** The nearest float64 of a fraction, ties to even: for what people are shown, and for spacings, never for noise. */
declare function toDouble(x: Fraction): number;
/** The whole part of a square root. */
declare function root(square: bigint): bigint;
/** Integers around e^-x times 2^precision, for x >= 0; two units apart. */
declare function exponentialBounds(x: Fraction, precision: number): [bigint, bigint];
/** A number by its leading bits: `leading(count)` is the whole part of it times 2^count. */
type Digits = (count: number) => bigint;
/** Leading bits of a number that is no multiple of a power of two, from bounds that can be made as close as need be. */
declare function settled(bounds: (precision: number) => [bigint, bigint]): Digits;
/** A dyadic fraction just above e^-x: the specification's "ratio above e^-x". */
declare function ratioAbove(x: Fraction): Fraction;
/** A fraction just below x / sqrt 2. */
declare function overRootTwo(x: Fraction): Fraction;
/** Leading bits of a fraction below 1. */
declare function digitsOf(p: Fraction): Digits;
/** Integers around ratio^exponent times 2^precision, for a ratio below 1; two units apart. */
declare function powerBounds(ratio: Fraction, exponent: bigint, precision: number): [bigint, bigint];
/** Leading bits of ratio^(2^squarings). */
declare function powerDigits(ratio: Fraction, squarings: number): Digits;
/** Leading bits of s / (1 + s), s = ratio^(2^squarings). */
declare function oddsDigits(ratio: Fraction, squarings: number): Digits;
/** float64 numbers as integers over one common power of two, exactly. */
declare function asIntegers(numbers: readonly number[]): bigint[];
type Json = null | boolean | number | string | Json[] | {
    [key: string]: Json;
};
type Entries = {
    [key: string]: Json;
};
/** A document as plain data of its own, refusing numbers that JavaScript cannot hold. */
declare function readJson(given: unknown): Json;
declare const HALVES: RegExp;
/** The one form of a document that its fingerprint is taken of: RFC 8785. */
declare function canonical(value: Json): string;
/** A table of a survey: its own entries, never inherited ones, each read as what it must be. */
interface Table {
    readonly place: string;
    readonly content: Entries;
    /** Refuses what was not read: whoever wrote it meant something. */
    finish(): void;
    /** Refuses an entry. The survey was written by Python, which says at more length what may stand there. */
    bad(key: string, value?: unknown): never;
    states(key: string): boolean;
    get(key: string): Json | undefined;
    table(key: string, value?: Json): Table;
    /** A table that may be left out; where it stands it says something. */
    optional(key: string): Table;
    number(key: string, fallback?: number, least?: number): number;
    whole(key: string, least: number, fallback?: number): number;
    positive(key: string, fallback?: number): number;
    text(key: string, fallback?: string): string;
    flag(key: string): boolean;
    list<Entry extends Json>(key: string, isEntry: (one: Json) => boolean, length?: number): Entry[];
    /** What is made of the table by its kind. */
    build<Made, From = Table>(kinds: Record<string, (from: From) => Made>, from?: From): Made;
}
declare function tableOf(value: Json | undefined, place: string): Table;
/** Mechanisms: a value in, a noisy report out, drawn exactly as docs/device.md says. */
/** What is promised of a report of one attribute. */
type Single = {
    readonly kind: "local";
    readonly epsilon: number;
} | {
    readonly kind: "metric";
    readonly epsilon: number;
    readonly unit: string;
};
/** What is promised of a report. */
type Guarantee = Single | {
    readonly kind: "product";
    readonly names: readonly string[];
    readonly parts: readonly Single[];
};
interface Mechanism {
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
type Finite = Mechanism & {
    draw: (index: number, bits: Bits) => number;
    reports: Alphabet;
};
declare function mechanismIn(table: Table, alphabet: Alphabet, numbers: Table): Mechanism;
/** Exact noise on whole numbers and on the plane. */
/** Draws whole numbers. */
type Steps = (bits: Bits) => bigint;
/** One such number less another. */
declare function twoSided(ratio: Fraction): Steps;
/** The number of cells that Laplace noise moves the middle of a cell by; b = e^(-rate / 2). */
declare function laplaceSteps(b: Fraction): Steps;
type Move = [bigint, bigint];
/** Draws displacements. */
type Moves = (bits: Bits) => Move;
/** Rows and columns apart from each other. */
declare function taxicabMoves(ratio: Fraction): Moves;
/** Displacements over the unbounded lattice, proportional to e^(-rate hypot). */
declare function planarMoves(rate: Fraction): Moves;
/** Displacements of a table over one quadrant, with their weights in all four: twice either way down, and along. */
declare function movesIn(quadrant: readonly (readonly number[])[]): [down: number, along: number, weight: bigint][];
/** Draws displacements of a table over one quadrant, alike in all four. */
declare function tableMoves(quadrant: readonly (readonly number[])[]): Moves;
/** A survey's promise in plain words, with odds: of distances, where Python's sentences are of pairs of values. */
/** The epsilon of all attributes together, where each has one that knows no distance. */
declare function together(guarantee: Guarantee): number | null;
/** The promise in a few words. */
declare function terms(guarantee: Guarantee, reports?: number): string;
/** The promise: in a few words, in odds, and what becomes of it when a person reports again. */
declare function promiseOf({ guarantee, lasting, limits, isPermanent }: Survey, alphabet: Alphabet): string[];
/** All that is promised, attribute by attribute. */
declare function total(guarantee: Guarantee): number;
interface QueueOptions {
    /** Where reports and the ledger are kept; the browser's own storage if left out. */
    storage?: Storage;
    /** How many reports may wait; 1,000 if left out. */
    most?: number;
}
interface SendOptions {
    /** Sent as `Authorization: Bearer`, where the collector asks for one. */
    token?: string;
    /** Sent as `Confide-Invitation`. */
    invitation?: string;
}
/** What became of the reports that waited. */
interface Sent {
    /** Reports that the collector has counted. */
    sent: number;
    /** Why others were refused for good; they are dropped. */
    refused: string[];
    /** Reports that still wait. */
    left: number;
    /** Why these wait: "offline", or what the collector said. */
    reason?: string;
    /** Seconds until it is worth trying again. */
    retryAfter?: number;
}
declare class Queue {
    #private;
    constructor(survey: Survey, options?: QueueOptions);
    /** Counts a report in the ledger and keeps it for sending, in one step. Refused where the survey's limits are used up. */
    add(report: Report, groups?: Record<string, string>): Promise<void>;
    /** How many reports wait, and what this person has given so far under this survey. */
    status(): Promise<{
        waiting: number;
        reports: number;
        epsilon: number;
    }>;
    /**
     * Sends what waits to a collector, one report a message. What cannot be sent now is kept; what was sent, but not
     * answered, is sent again under the same batch id, so that it counts once.
     */
    send(url: string | URL, options?: SendOptions): Promise<Sent>;
}
declare function sha256(...parts: Uint8Array[]): Uint8Array;
declare function hmac(key: Uint8Array, ...message: Uint8Array[]): Uint8Array;
declare function utf8(text: string): Uint8Array;
declare function hex(octets: Uint8Array | number[]): string;
/** The first 32 hexadecimal digits of a hash: what fingerprints are. */
declare const short: (hash: Uint8Array) => string;
declare const digest: (text: string) => string;
/** Somewhere to keep the queue and the ledger. */
interface Storage {
    /**
     * Replaces the text by what `change` makes of it, as one step that no other tab or process sees half of.
     * Null is no text, before and after: nothing is written then. If `change` throws, nothing is written either.
     */
    update(change: (text: string | null) => string | null): Promise<void>;
}
/** The browser's own: IndexedDB, whose transactions two tabs take in turn. */
declare function browserStorage(name?: string): Storage;
/** A survey: the contract between a person's device and the curator, read with suspicion. */
/** What an application was reviewed with: one survey by its fingerprint, or the most that it will give away. */
type Pin = {
    /** The whole fingerprint that `confide export` prints. */
    fingerprint: string;
    epsilon?: undefined;
} | {
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
interface Limits {
    readonly reports: number | null;
    readonly epsilon: number | null;
}
interface BlurOptions {
    /** The person's secret, 16 bytes or more (or 32 hexadecimal digits or more): the same value, the same report. */
    permanent?: Uint8Array | string;
}
/** A noisy report, ready to be shown and queued. */
interface Report {
    /** Fingerprint of the survey, as messages carry it. */
    readonly survey: string;
    /** The report itself: all that is sent. */
    readonly data: Json;
    /** Names the value of permanent noise without telling it: repeated, it costs nothing more. Stays on the device. */
    readonly tag: string | null;
}
/** Reports that `survey.blur` made, and nothing else, so that no true value is sent by mistake. */
declare const made: WeakSet<object>;
declare class Survey {
    #private;
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
    /** @internal */
    constructor(given: unknown, pin: Pin | null, bits: Bits);
    /** The promise in sentences: as a formula, in odds, and what becomes of it when a person reports again. */
    get promise(): string[];
    /** Turns what a person has (a word, a number, a date, a place) into a value, or throws with the reason. */
    take(raw: unknown): Value;
    /** Blurs a value. Where this throws there is no report. */
    blur(value: Value, options?: BlurOptions): Report;
    /** Every value as a person may be shown it, where there are few enough to choose from. */
    choices(most?: number): {
        value: Value;
        label: string;
    }[];
}
/** A new secret for permanent noise: 32 random bytes in hexadecimal digits. Keep it on the device. */
declare function newSecret(): string;
/**
 * Reads a survey, as `confide export survey.toml` writes it, and checks its fingerprint and the pin.
 * Anything that is not understood is refused with the reason: a device does not guess.
 */
declare function loadSurvey(json: unknown, pin?: Pin): Survey;
/** For tests and simulations alone: the same survey with random bytes of your own, which promises nobody anything. */
declare function simulatedSurvey(json: unknown, octet: () => number): Survey;
/** JavaScript's blanks but for one, and Python's separators beside. */
declare const BLANK = "(?:(?!\\ufeff)[\\s\\x1c-\\x1f\\x85])";
/** A pattern between blanks, which must be the whole text. */
declare function whole(pattern: string, flags?: string): RegExp;
/** A text without the blanks around it. */
declare function trimmed(text: string): string;
declare function isMissing(raw: unknown): boolean;
/** The value of a person cannot be used; the reason is that of Python's account of rows. */
declare function noValue(reason: string, raw: unknown): never;
/** The digits of a decimal number in a text, if it is one. */
declare const decimalIn: (text: string) => string | undefined;
/** A finite number, given as one or as a text. */
declare function realOf(raw: unknown, reason: string): number;
/** Whether a text is a whole number. */
declare const isInteger: (text: unknown) => boolean;
/** A whole number as it is written most simply, however large. */
declare const simplest: (raw: unknown) => string;
/** A whole number, given as one or as a text; NaN where it is too large to be a value of anything. */
declare function integerOf(raw: unknown): number;
/** The fold of docs/values.md: case, blanks and the form of accents do not matter. */
declare function fold(text: string): string;
/** Texts that are taken for a word; undefined for those that are not. */
declare function spelling(values: readonly (string | number)[], table: Table): (text: string) => string | undefined;
/** Whether this is a text that is not empty; a NUL at its end would be lost in numpy. */
declare function isWord(value: unknown): boolean;
/** confide: blurs a value on a person's own device, exactly, by the promise of a survey. */
export { ConfideError, type Code };
export type { Json };
export type { Value };
export type { Guarantee };
export { loadSurvey, newSecret, simulatedSurvey, type BlurOptions, type Limits, type Pin, type Report, type Survey, };
export { Queue, type QueueOptions, type SendOptions, type Sent };
export { browserStorage, type Storage };
