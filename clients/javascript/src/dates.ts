/** Dates and times by ISO 8601, in the calendar of Python's `date`: years 1 to 9999, days counted from 1. */
import { whole, trimmed } from "./words.js";

export const EVERY = ["day", "week", "month", "quarter", "year"] as const;
export type Every = (typeof EVERY)[number];

export const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

const TIME = "([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,][0-9]+)?)?";
const OFFSET = "(?:Z|[+-](?:0[0-9]|1[0-4])(?::?[0-5][0-9])?)?";
const MOMENT = whole(`([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[T ]${TIME}${OFFSET})?`);
const CLOCK = whole(`T?${TIME}${OFFSET}`);
const STEP = whole("([0-9]{4})(?:-(?:W([0-9]{2})|Q([0-9])|([0-9]{2})))?");

/** Day, counted from 1 on 0001-01-01, and hour; null for what a text does not say. */
export interface Moment {
  day: number | null;
  hour: number | null;
}

/** What a text says, by the clock that it shows; or why it says nothing. */
export function readMoment(raw: unknown): Moment | string {
  if (typeof raw !== "string") return "not a date";
  const found = MOMENT.exec(raw);
  if (found) {
    const day = ordinal(Number(found[1]), Number(found[2]), Number(found[3]));
    if (day === null) return "no such date";
    return found[4] === undefined ? { day, hour: null } : withHour(day, found.slice(4));
  }
  const clock = CLOCK.exec(raw);
  return clock ? withHour(null, clock.slice(1)) : "not a date";
}

function withHour(day: number | null, texts: (string | undefined)[]): Moment | string {
  const [hour, minute, second] = texts.map((text) => Number(text ?? "0"));
  return hour < 24 && minute < 60 && second < 60 ? { day, hour } : "no such time";
}

/** Days from 0001-01-01, which is day 1, to 1970-01-01. */
const EPOCH = 719163;
const DAY = 864e5;

/** The number of a day, by the browser's own calendar in UTC, which knows no offsets; null where there is none. */
export function ordinal(year: number, month: number, day: number): number | null {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const isThere = year >= 1 && year <= 9999 && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  return isThere ? date.getTime() / DAY + EPOCH : null;
}

function dateOf(day: number): [number, number, number] {
  const date = new Date((day - EPOCH) * DAY);
  return [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()];
}

const MONTHS = { month: 1, quarter: 3, year: 12 };

/** The number of the step that holds a day. */
export function stepOf(day: number, every: Every): number {
  if (every === "day") return day;
  if (every === "week") return Math.floor((day - 1) / 7); // 0001-01-01 is a Monday
  const [year, month] = dateOf(day);
  return Math.floor((year * 12 + month - 1) / MONTHS[every]);
}

/** The first day of a step; past the last year there is none, but an end. */
function startOf(step: number, every: Every): number {
  if (every === "day") return step;
  if (every === "week") return 7 * step + 1;
  const months = step * MONTHS[every];
  return ordinal(Math.floor(months / 12), (months % 12) + 1, 1) ?? 3652060; // the day after 9999-12-31
}

const padded = (number: number, width: number): string => String(number).padStart(width, "0");

/** A step as people write it. */
export function labelOf(step: number, every: Every): string {
  const [year, month, day] = dateOf(startOf(step, every));
  if (every === "week") {
    // The week belongs to the year that holds its Thursday.
    const thursday = startOf(step, every) + 3;
    const [own] = dateOf(thursday);
    return `${padded(own, 4)}-W${padded(Math.floor((thursday - ordinal(own, 1, 1)!) / 7) + 1, 2)}`;
  }
  if (every === "quarter") return `${padded(year, 4)}-Q${Math.floor((month + 2) / 3)}`;
  const parts = [padded(year, 4), padded(month, 2), padded(day, 2)];
  return parts.slice(0, every === "year" ? 1 : every === "month" ? 2 : 3).join("-");
}

/** First and last day of what a text such as 2026-W09 names, or why it names none. */
function daysIn(text: string): [number, number] | string {
  const found = STEP.exec(text);
  if (!found) {
    const moment = readMoment(text);
    if (typeof moment === "string") return moment;
    return moment.day === null || moment.hour !== null ? "not a date" : [moment.day, moment.day];
  }
  const year = Number(found[1]);
  const [week, quarter, month] = found.slice(2).map((part) => (part === undefined ? null : Number(part)));
  if (week !== null) {
    const fourth = ordinal(year, 1, 4); // always in week 1
    if (fourth === null) return "no such date";
    const start = startOf(stepOf(fourth, "week") + week - 1, "week");
    const isThere = week >= 1 && labelOf(stepOf(start, "week"), "week") === `${found[1]}-W${found[2]}`;
    return isThere ? [start, start + 6] : "no such date";
  }
  const every: Every = quarter !== null ? "quarter" : month !== null ? "month" : "year";
  const start = ordinal(year, month ?? (quarter !== null ? 3 * quarter - 2 : 1), 1);
  return start === null ? "no such date" : [start, startOf(stepOf(start, every) + 1, every) - 1];
}

/** The step that holds all that a text names, such as the week of a day; or why there is none. */
export function stepNamed(text: string, every: Every): number | string {
  const found = daysIn(text);
  if (typeof found === "string") return found;
  const [start, end] = found.map((day) => stepOf(day, every));
  return start === end ? start : `longer than a ${every}`;
}

/** The step of a person's date. */
export function stepIn(raw: unknown, every: Every): number | string {
  if (every !== "day" && typeof raw === "string" && STEP.test(raw)) {
    const found = daysIn(raw);
    if (typeof found === "string") return found;
    const step = stepOf(found[0], every);
    const isWhole = startOf(step, every) === found[0] && startOf(step + 1, every) - 1 === found[1];
    return isWhole ? step : "not a date";
  }
  const moment = readMoment(raw);
  if (typeof moment === "string") return moment;
  return moment.day === null ? "not a date" : stepOf(moment.day, every);
}

export function hourIn(raw: unknown): number | string {
  const moment = readMoment(raw);
  if (typeof moment === "string") return moment === "not a date" ? "not a time" : moment;
  return moment.hour ?? "not a time";
}

export function weekdayIn(raw: unknown): number | string {
  const named = typeof raw === "string" ? WEEKDAYS.findIndex((day) => [day, day.slice(0, 3)].includes(trimmed(raw))) : -1;
  if (named >= 0) return named;
  const moment = readMoment(raw);
  if (typeof moment === "string" && moment !== "not a date") return moment;
  return typeof moment === "string" || moment.day === null ? "not a weekday" : (moment.day + 6) % 7;
}
