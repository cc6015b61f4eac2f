/** Dates and times by ISO 8601, in the calendar of Python's `date`: years 1 to 9999, days counted from 1. */
import { isText } from "./errors.js";
import { noValue, trimmed, whole } from "./words.js";

export const EVERY = ["day", "week", "month", "quarter", "year"] as const;
export type Every = (typeof EVERY)[number];

export const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

const TIME = "(\\d\\d):(\\d\\d)(?::(\\d\\d)(?:[.,]\\d+)?)?";
const OFFSET = "(?:Z|[+-](?:0\\d|1[0-4])(?::?[0-5]\\d)?)?";
const MOMENT = whole(`(\\d{4})-(\\d\\d)-(\\d\\d)(?:[T ]${TIME}${OFFSET})?`);
const CLOCK = whole(`T?${TIME}${OFFSET}`);
const STEP = whole("(\\d{4})(?:-(?:W(\\d\\d)|Q(\\d)|(\\d\\d)))?");

/** Day, counted from 1 on 0001-01-01, and hour; null for what a text does not say. */
type Moment = [day: number | null, hour: number | null];

/** What a text says, by the clock that it shows; refused as `otherwise` where it says nothing. */
function momentIn(raw: unknown, otherwise: string): Moment {
  const text = isText(raw) ? raw : "";
  const found = MOMENT.exec(text);
  const clock = found ? found.slice(4) : CLOCK.exec(text)?.slice(1);
  if (!clock) return noValue(otherwise, raw);
  const [year, month, date] = (found ?? []).slice(1).map(Number);
  const day = found && (ordinal(year, month, date) ?? noValue("no such date", raw));
  const [hour, minute, second] = clock.map((part) => Number(part ?? 0));
  if (hour > 23 || minute > 59 || second > 59) return noValue("no such time", raw);
  return [day, clock[0] ? hour : null];
}

/** The day or the hour of a text that must say it. */
function partIn(raw: unknown, part: 0 | 1, otherwise: string): number {
  return momentIn(raw, otherwise)[part] ?? noValue(otherwise, raw);
}

/** Days from 0001-01-01, which is day 1, to 1970-01-01. */
const EPOCH = 719163;
const DAY = 864e5;

/** The last day of the year 9999. */
const LAST = 3652059;

/** The number of a day, by the browser's own calendar in UTC, which knows no offsets; null where there is none. */
export function ordinal(year: number, month: number, day: number): number | null {
  const date = new Date(0);
  const time = date.setUTCFullYear(year, month - 1, day);
  // A month has no such day where that falls into another.
  return year > 0 && date.getUTCMonth() === month - 1 ? time / DAY + EPOCH : null;
}

/** A day as people write it, of which the first 4 characters are the year, and the first 7 the month. */
const dateOf = (day: number): string => new Date((day - EPOCH) * DAY).toISOString().slice(0, 10);

const MONTHS = { month: 1, quarter: 3, year: 12 };

/** The number of the step that holds a day. */
export function stepOf(day: number, every: Every): number {
  if (every === "day") return day;
  if (every === "week") return Math.floor((day - 1) / 7); // 0001-01-01 is a Monday
  const [year, month] = dateOf(day).split("-").map(Number);
  return Math.floor((year * 12 + month - 1) / MONTHS[every]);
}

/** The first day of a step. */
function startOf(step: number, every: Every): number {
  if (every === "day") return step;
  if (every === "week") return 7 * step + 1;
  const months = step * MONTHS[every];
  return ordinal(Math.floor(months / 12), (months % 12) + 1, 1)!;
}

/** Two digits. */
export const padded = (number: number | string): string => String(number).padStart(2, "0");

/** A step as people write it. */
export function labelOf(step: number, every: Every): string {
  // A week belongs to the year that holds its Thursday.
  const day = startOf(step, every) + (every === "week" ? 3 : 0);
  const date = dateOf(day);
  const year = date.slice(0, 4);
  if (every === "week") return `${year}-W${padded(Math.floor((day - ordinal(Number(year), 1, 1)!) / 7) + 1)}`;
  if (every === "quarter") return `${year}-Q${(step % 4) + 1}`;
  return every === "year" ? year : every === "month" ? date.slice(0, 7) : date;
}

const NO_DATE = "not a date";

/** First and last day of what a text such as 2026-W09 names. */
function daysIn(text: string): [number, number] {
  const found = STEP.exec(text);
  if (!found) {
    const [day, hour] = momentIn(text, NO_DATE);
    return day === null || hour !== null ? noValue(NO_DATE, text) : [day, day];
  }
  const none = (): never => noValue("no such date", text);
  const [year, week, quarter, month] = found.slice(1).map(Number);
  if (found[2]) {
    const fourth = ordinal(year, 1, 4) ?? none(); // always in week 1
    const start = startOf(stepOf(fourth, "week") + week - 1, "week");
    const isThere = week && start + 6 <= LAST && labelOf(stepOf(start, "week"), "week") === `${found[1]}-W${found[2]}`;
    return isThere ? [start, start + 6] : none();
  }
  const every: Every = found[3] ? "quarter" : found[4] ? "month" : "year";
  const start = ordinal(year, found[3] ? 3 * quarter - 2 : month || (found[4] ? 0 : 1), 1) ?? none();
  return [start, startOf(stepOf(start, every) + 1, every) - 1];
}

/** The step that holds all that a text names, such as the week of a day. */
export function stepNamed(text: string, every: Every): number {
  const [start, end] = daysIn(text).map((day) => stepOf(day, every));
  return start === end ? start : noValue(NO_DATE, text);
}

/** The step of a person's date. */
export function stepIn(raw: unknown, every: Every): number {
  if (every === "day" || !isText(raw) || !STEP.test(raw)) return stepOf(partIn(raw, 0, NO_DATE), every);
  const [start, end] = daysIn(raw);
  const step = stepOf(start, every);
  return startOf(step, every) === start && startOf(step + 1, every) - 1 === end ? step : noValue(NO_DATE, raw);
}

export function hourIn(raw: unknown): number {
  return partIn(raw, 1, "not a time");
}

export function weekdayIn(raw: unknown): number {
  const named = WEEKDAYS.findIndex((day) => isText(raw) && [day, day.slice(0, 3)].includes(trimmed(raw)));
  return named < 0 ? (partIn(raw, 0, "not a weekday") + 6) % 7 : named;
}
