// Made by types.mjs from schema.toml, which Python's tests check as well: change it there.
/** Values that a survey asks for, as its file says them: `{ kind: "integers", low: 0, high: 99, unit: "year" }`. */
export interface AlphabetTable {
  kind: string;
  [setting: string]: unknown;
}
/** A survey that is being designed. */
export interface Draft {
  survey: DraftSurvey;
  /** A kind such as "truncated-geometric"; where it is missing, the one that suits the values. */
  mechanism?: string;
  epsilon: number;
  people: number;
  /** What the truth may look like: a bundled dataset of the same values, or a shape ("peaked", "two humps", ...). */
  guess: string;
}
export interface DraftSurvey {
  name: string;
  title: string;
  alphabet: AlphabetTable;
  language?: string;
  /** "public" where whoever takes part may see the result. */
  results?: string;
  groups?: Record<string, string[]>;
  limits?: Record<string, unknown>;
}
/** A draft for a file, from the profile that the page made of it; the other columns, and why some are left out. */
export interface Proposed {
  draft: Draft;
  columns: string[];
  others: string[][];
  left_out: LeftOut[];
  facts: string[];
}
export interface LeftOut {
  name: string;
  why: string;
}
/** How values lie and are called; shares are lists in this order. */
export interface Values {
  kind: string;
  size: number;
  unit: string | null;
  labels: string[];
  /** Of lines: where each value lies. */
  positions: number[] | null;
  /** Of planes: rows and columns, and of each value its row (0 is south) and column; of places the map's degrees too; how wide a cell is, in the unit. */
  plane: Plane | null;
}
export interface Plane {
  rows: number;
  columns: number;
  cells: [number, number][];
  degrees: PlaneDegrees | null;
  spacing?: number;
}
export interface PlaneDegrees {
  south: number;
  north: number;
  west: number;
  east: number;
}
export interface Named {
  kind: string;
  name: string;
  remark: string;
}
/** What a draft would be, at once: no simulation but a thousand draws. */
export interface Preview {
  survey: SurveyText;
  values: Values;
  mechanism: Named;
  /** Those that suit these values, the present one among them: those with its promise first, the most accurate before others. */
  mechanisms: Named[];
  /** The kind that is best at this promise, and why; none where that is not known at once. */
  winner: string | null;
  why: string;
  /** The slider of epsilon (logarithmic), and what epsilon is per ("year", "cell"; empty for any two values). */
  epsilon: Slider;
  /** The promise in sentences, the odds first: "Even odds that a person is 37 rather than 38 become at most 51 to 49." */
  promise: string[];
  /** `odds` of 100 is what even odds become at most: 51.25 for "51 to 49". Of places `apart` says how far: "500 m". */
  odds: Odds[];
  /** The true value that the picture is for, and what may leave the phone: probabilities, and how often each came in a thousand draws, both in the order of `reports.values`. Of bits (rappor) both are of each bit, and add up to no 1. */
  value: Chosen;
  reports: DrawnReports;
  guesses: GuessNamed[];
  /** Extremes: "Nearly the truth", "Nearly nothing", too few people. */
  warnings: string[];
  code: Code;
}
export interface SurveyText {
  text: string;
  json: string;
  fingerprint: string;
}
export interface Slider {
  value: number;
  low: number;
  high: number;
  usual: number;
  per: string;
  /** As it is said: "epsilon 0.3 per 10,000 dollars". */
  words: string;
}
export interface Odds {
  words: string;
  from: string;
  to: string;
  odds: number;
  apart: string;
}
export interface Chosen {
  index: number;
  label: string;
}
export interface DrawnReports {
  values: Values;
  probabilities: number[];
  drawn: number[];
  words: string;
}
export interface GuessNamed {
  name: string;
  title: string;
}
/** The same in files, commands and Python. */
export interface Code {
  commands: string;
  python: string;
}
/** One simulated survey of a draft: what the picture would be. */
export interface Expectation {
  values: Values;
  truth: number[];
  /** Shares of the reports, over the values (reports outside are left out, and said in `words`). */
  reports: number[];
  estimate: number[];
  windows: Window[];
  emd: Distance | null;
  total_variation: number;
  /** "With 50,000 people at 0.05 per year, the shares of 5 ranges of age will be known to within about ±17 points (95% confidence)." */
  words: string;
  fewest: string | null;
  /** Choices of epsilon, once they were compared; null where there are none. */
  levels: Levels | null;
}
/** A strong, a balanced and a light epsilon, and the draft's own: what each promises, and what the survey would show. */
export interface Levels {
  headings: string[];
  rows: Level[];
  note: string;
}
export interface Level {
  epsilon: number | null;
  is_chosen: boolean;
  cells: string[];
}
export interface Distance {
  value: number;
  unit: string;
}
export interface Window {
  label: string;
  /** Positions in `values`. */
  indices: number[];
  is_told: boolean;
  estimate: number;
  low: number;
  high: number;
}
/** An answer with its interval: a query, the mean, the median. */
export interface Answer {
  query: string;
  estimate: number | string;
  low: number | string;
  high: number | string;
  level: number;
  rests_on: string;
  /** As a person reads it: "Median age", "37", "33 to 41, 95% confidence". */
  title: string;
  now: string;
  ends: string;
  error?: string;
}
/** One method's estimate, for methods side by side. */
export interface MethodShown {
  /** As in design.css: "stacked", "ibu", "held-out", "mle", "normalized", "projected", "smooth", "reports". */
  colour: string;
  name: string;
  distribution: number[];
  emd: Distance | null;
  words: string;
}
/** What is known of a survey from the reports that came so far. */
export interface Look {
  version: number;
  survey: LookedAt;
  values: Values;
  accepted: number;
  rejected: Record<string, number>;
  promise: string[];
  /** Of each value's report how many came, as shares over the values (null where reports are no values). */
  reports: number[] | null;
  /** Pending ones are told before they are known: fit and windows take many times as long as the estimate. */
  fit: FitShown;
  /** The answer in one sentence. */
  headline: string;
  distribution: number[];
  windows: WindowsShown;
  band: Band | null;
  statistics: Answer[];
  queries: Answer[];
  methods: MethodShown[];
  groups: GroupShown[];
  differences: string[];
  diagnosis: string[] | null;
  /** Districts that were asked for by name, in the order asked. */
  districts: Window[];
  details: Detail[];
  code: Code;
}
export interface LookedAt {
  fingerprint: string;
  name: string;
  title: string;
  is_simulated: boolean;
  is_closed: boolean;
}
export interface FitShown {
  headline: string;
  words: string;
  is_good: boolean | null;
  /** What speaks against the answer: it stands before it. */
  cautions: Caution[];
  is_pending?: boolean;
}
export interface Caution {
  heading: string;
  words: string;
}
export interface WindowsShown {
  /** The headline once windows are known, which may name one of them; empty where that of the look stays. */
  headline: string;
  words: string;
  windows: Window[];
  is_pending?: boolean;
}
export interface Band {
  low: number[];
  high: number[];
}
export interface GroupShown {
  name: string;
  people: number;
  distribution: number[];
  statistics: Answer[];
  queries: Answer[];
}
export interface Detail {
  name: string;
  words: string;
}
/** The paper's figures alive: methods on a bundled truth. */
export interface Playing {
  values: Values;
  people: number;
  truth: number[];
  reports: number[];
  methods: PlayedMethod[];
  /** Methods for which there was no time within what was asked for. */
  left: string[];
  /** What was played: "10,000 people, the truncated geometric mechanism, 0.05 per year". */
  made: string;
}
/** A method's estimate, and its name on the command line. */
export interface PlayedMethod {
  /** As in design.css: "stacked", "ibu", "held-out", "mle", "normalized", "projected", "smooth", "reports". */
  colour: string;
  name: string;
  distribution: number[];
  emd: PlayedMethodEmd | null;
  words: string;
  key: string;
}
export interface PlayedMethodEmd {
  value: number;
  unit: string;
}
export interface SurveySummary {
  survey: string;
  title: string;
  name: string;
  accepted: number;
  is_simulated: boolean;
  is_closed: boolean;
  version: number;
}
export interface Start {
  version: string;
  datasets: DatasetShown[];
  /** Surveys to begin with: who is asked. */
  templates: Template[];
  surveys: SurveySummary[];
  may_administer: boolean;
  /** Languages that the page to take part speaks: "de", "en". */
  languages: string[];
  links: Links;
}
/** Where people reach this studio: the shared page to take part, the whole server from the network, this machine's address there. `is_alone` where sharing found no network. */
export interface Links {
  shared: string;
  network: string;
  machine: string;
  is_alone: boolean;
}
export interface DatasetShown {
  name: string;
  title: string;
  people: number;
  alphabet: AlphabetTable;
  credit: string;
}
export interface Template {
  name: string;
  words: string;
  draft: Draft;
  target: number;
}
export interface Planned {
  words: string;
  remarks: string[];
  epsilon: number | null;
  /** As epsilon is said: "0.3 per 10,000 dollars". */
  terms: string;
  people: number;
  expected: Expected;
  is_reached: boolean;
  /** Made-up surveys a setting: few in a first answer (`Progress.partial`), which a better one follows. */
  repeats: number;
}
export interface Expected {
  value: number;
  unit: string;
  margin: number;
}
export interface Progress {
  state: "waiting" | "running" | "done" | "failed" | "stopped";
  done: number;
  of: number;
  words: string;
  /** What is known so far: of "expect" the Expectation without its windows, which take as long again; of "look" and "play" likewise, of "plan" a coarse Planned. Draw it at once. */
  partial?: unknown;
  answer?: unknown;
  error?: Failure;
}
/** What went wrong, in words that say what to do. */
export interface Failure {
  code: string;
  message: string;
}
/** What whoever takes part may know of a survey: how many answered, and the result where the survey lets people see it. */
export interface Crowd {
  accepted: number;
  result: PublicResult | null;
}
export interface PublicResult {
  labels: string[];
  distribution: number[];
  /** Of each value's report how many came; null where reports are no values. */
  reports: number[] | null;
}
