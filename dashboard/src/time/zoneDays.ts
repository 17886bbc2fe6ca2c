import { wallClock } from "./wallClock";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A day of a zone. Where the clocks change it has 23 or 25 hours. */
export interface ZoneDay {
  year: number;
  /** From 1. */
  month: number;
  day: number;
  /** Monday is 0. */
  weekday: number;
  /** Milliseconds since 1970. */
  start: number;
  end: number;
  hours: number;
}

/** When a day begins in a zone. Days before the first and after the last of a month count on: 31 Feb is in March. */
export function startOfDay(year: number, month: number, day: number, zone: string): number {
  const wall = Date.UTC(year, month - 1, day);
  const guess = wall - offsetAt(wall, zone);
  const start = wall - offsetAt(guess, zone);
  return wallClock(start, zone).hour === 23 ? start + HOUR : start; // clocks that jump at midnight skip it
}

export function offsetAt(at: number, zone: string): number {
  const { year, month, day, hour, minute } = wallClock(at, zone);
  return Date.UTC(year, month - 1, day, hour, minute) - Math.floor(at / 60_000) * 60_000;
}

export function monthDays(year: number, month: number, zone: string): ZoneDay[] {
  const length = new Date(Date.UTC(year, month, 0)).getUTCDate();
  return Array.from({ length }, (_, place) => zoneDay(year, month, place + 1, zone));
}

export function yearDays(year: number, zone: string): ZoneDay[] {
  return Array.from({ length: 12 }, (_, place) => monthDays(year, place + 1, zone)).flat();
}

function zoneDay(year: number, month: number, day: number, zone: string): ZoneDay {
  const start = startOfDay(year, month, day, zone);
  const end = startOfDay(year, month, day + 1, zone);
  const weekday = (new Date(Date.UTC(year, month - 1, day)).getUTCDay() + 6) % 7;
  return { year, month, day, weekday, start, end, hours: Math.round(((end - start) / DAY) * 24 * 2) / 2 };
}

/** The hours of a day as its clocks show them: one is missing or there twice where the clocks change. */
export function hoursOf({ start, end }: ZoneDay, zone: string): { at: number; hour: number }[] {
  const hours: { at: number; hour: number }[] = [];
  for (let at = start; at < end; at += HOUR) hours.push({ at, hour: wallClock(at, zone).hour });
  return hours;
}
