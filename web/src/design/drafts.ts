/** The draft of a survey that is being designed, kept in this tab: reload and the back button lose nothing. */
import type { AlphabetTable, Draft, Planned, Work } from "../shared/api.js";
import { started } from "../shared/shell.js";
import { attributesOf } from "../shared/tables.js";

const KEY = "confide design";

/** How precise the answer must be: the whole picture, or one question's share. */
export interface Target {
  by: "emd" | "width";
  emd: number;
  width: number;
  query: string;
}

export interface State {
  template: string;
  draft: Draft;
  target: Target;
  /** Whether the person chooses epsilon, and it does not follow from the target. */
  isOwn: boolean;
  /** The true value that the picture of one report is for. */
  value: number | null;
  planned: { key: string; planned: Planned } | null;
  /** What the plan of the template depends on: until something changes, its own epsilon stands, and its error is asked for. */
  fresh: string;
  /** Whether the person said what an answer is called. */
  isNamed?: boolean;
  /** Drafts of the other templates, as they were left. */
  left: Record<string, { draft: Draft; target: Target }>;
}

/** What was being designed in this tab, or the first template. */
export function restored(): State {
  try {
    const found = JSON.parse(sessionStorage.getItem(KEY) ?? "null") as State | null;
    if (found && typeof found.draft?.epsilon === "number" && found.draft.survey?.alphabet?.kind && found.target)
      return found;
  } catch {
    // Nothing was kept, or another version kept it.
  }
  return fresh(started().templates[0]!.name, {});
}

export function keep(state: State): void {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(state));
  } catch {
    // A browser that keeps nothing still designs.
  }
}

/** The state of a template, as it was left or as it begins. */
export function fresh(name: string, left: State["left"]): State {
  const template = started().templates.find((one) => one.name === name) ?? started().templates[0]!;
  const known = left[template.name];
  const draft = known?.draft ?? structuredClone(template.draft);
  const state: State = {
    template: template.name,
    draft,
    target: known?.target ?? targetOf(draft, template.target),
    isOwn: false,
    value: null,
    planned: null,
    fresh: "",
    left,
  };
  if (!known) state.fresh = keyOf(state);
  return state;
}

/** What a template begins with. */
function beginningOf(state: State): Draft {
  return started().templates.find((one) => one.name === state.template)?.draft ?? state.draft;
}

/** The epsilon that a template begins with. */
export function epsilonOf(state: State): number {
  return beginningOf(state).epsilon;
}

const PLAIN = "answer";

/** What an answer is called: the template's word belongs to its question, and a person's own word stays. */
export function nameFor(state: State, title: string): string {
  const { survey } = beginningOf(state);
  const { name } = state.draft.survey;
  return state.isNamed || ![survey.name, PLAIN].includes(name) ? name : title === survey.title ? survey.name : PLAIN;
}

/** A first target, which the template's epsilon and people meet; and a question. */
function targetOf({ survey: { alphabet, name } }: Draft, emd: number): Target {
  return { by: "emd", emd, width: 0.02, query: queryOf(name, alphabet) };
}

/** A question to begin with. */
export function queryOf(name: string, alphabet: AlphabetTable): string {
  // Of several questions the first one that has a question of its own.
  if (alphabet.kind === "attributes")
    return (
      attributesOf(alphabet)
        .map((one) => queryOf(one.name, one.alphabet))
        .find(Boolean) ?? ""
    );
  const [low, high] = [Number(alphabet["low"]), Number(alphabet["high"])];
  const edges = alphabet["edges"];
  if (alphabet.kind === "bins" && Array.isArray(edges))
    return `${name} >= ${Number(edges[Math.max(1, Math.floor(edges.length / 2))])}`;
  if (alphabet.kind === "integers") return `${name} >= ${Math.round(low + (high - low) * 0.65)}`;
  const first = Array.isArray(alphabet["values"]) ? alphabet["values"][0] : undefined;
  if (first !== undefined && !String(first).includes("'")) return `${name} == '${String(first)}'`;
  return "";
}

/** What a plan finds out. */
export type Solved = "epsilon" | "people" | "error";

/** The plan that epsilon, the people or the error follow from. */
export function planOf(state: State, solve: Solved): Work {
  const { by, emd, width, query } = state.target;
  return { kind: "plan", draft: state.draft, solve, target: by === "emd" ? { emd } : { width, query } };
}

/** What the plan under way depends on: people depend on epsilon as well. */
export function keyFor(state: State, solve: Solved): string {
  return solve === "people" ? JSON.stringify([keyOf(state), state.draft.epsilon]) : keyOf(state);
}

/** What a plan depends on: not on the epsilon that it gives, nor on titles, nor on the query where the whole picture counts. */
export function keyOf(state: State): string {
  const { epsilon: _epsilon, survey, ...rest } = state.draft;
  const { by, emd, width, query } = state.target;
  return JSON.stringify([rest, survey.alphabet, by, ...(by === "emd" ? [emd] : [width, query, survey.name])]);
}
