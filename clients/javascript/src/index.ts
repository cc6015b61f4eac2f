/** confide: blurs a value on a person's own device, exactly, by the promise of a survey. */
export { ConfideError, type Code } from "./errors.js";
export type { Json } from "./json.js";
export type { Value } from "./alphabets.js";
export type { Guarantee } from "./mechanisms.js";
export {
  loadSurvey,
  newSecret,
  simulatedSurvey,
  type BlurOptions,
  type Limits,
  type Pin,
  type Report,
  type Survey,
} from "./survey.js";
export { Queue, type QueueOptions, type SendOptions, type Sent } from "./queue.js";
export { browserStorage, type Storage } from "./storage.js";
