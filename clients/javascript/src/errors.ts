/** Why something was refused. `code` is for programs, `message` for people. */
export type Code =
  | "survey" // the document is no survey that this client understands
  | "fingerprint" // its content is not what its fingerprint says
  | "pin" // it asks for more than the application was reviewed with
  | "value" // the value has no place in the survey
  | "secret" // permanent noise needs a secret, or may not have one
  | "entropy" // the random generator fails
  | "limit" // the survey's limits are used up
  | "storage" // what is kept on the device cannot be read or written
  | "full" // the queue holds as many reports as it may
  | "report"; // what was to be queued is no report of this survey

/** An error of this client. Where one is thrown there is no report. */
export class ConfideError extends Error {
  readonly code: Code;
  constructor(code: Code, message: string) {
    super(message);
    this.name = "ConfideError";
    this.code = code;
  }
}

/** Throws; an expression, so that it can stand where a value is expected. */
export function refuse(code: Code, message: string): never {
  throw new ConfideError(code, message);
}

export const isText = (value: unknown): value is string => typeof value === "string";
export const isNumber = (value: unknown): value is number => typeof value === "number";
export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
/** Whether this is an object with names, and no list. */
export const isTable = (value: unknown): value is Record<string, any> =>
  Object(value) === value && !Array.isArray(value);

const SHOWN = 60;

/** A value as it stands in a message: short, and with nothing that would break a line. */
export function shown(value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    // a cycle, a getter that throws, a bigint
  }
  text ??= typeof value;
  return text.length > SHOWN ? text.slice(0, SHOWN - 1) + "…" : text;
}
