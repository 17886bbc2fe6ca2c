export interface WallClock {
  year: number;
  /** From 1. */
  month: number;
  day: number;
  hour: number;
  minute: number;
  /** Monday is 0. */
  weekday: number;
}

const formats = new Map<string, Intl.DateTimeFormat>();
const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/** What a clock on the wall shows in a zone at a time, in milliseconds since 1970. */
export function wallClock(at: number, zone: string): WallClock {
  const parts = Object.fromEntries(formatFor(zone).formatToParts(at).map(({ type, value }) => [type, value]));
  const number = (name: string) => Number(parts[name]);
  return {
    year: number("year"),
    month: number("month"),
    day: number("day"),
    hour: number("hour"),
    minute: number("minute"),
    weekday: WEEKDAYS.indexOf(parts["weekday"] ?? ""),
  };
}

function formatFor(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone, calendar: "gregory", numberingSystem: "latn", hourCycle: "h23", weekday: "short",
      year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric",
    });
    formats.set(zone, format);
  }
  return format;
}
