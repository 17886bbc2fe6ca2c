const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;

const formats = new Map<string, Intl.DateTimeFormat>();

/** Making a format is slow: each is made once. */
function format(zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = zone + JSON.stringify(options);
  let found = formats.get(key);
  if (!found) {
    found = new Intl.DateTimeFormat("en-GB", { timeZone: zone, ...options });
    formats.set(key, found);
  }
  return found;
}

/** "Tue 17 Nov 2026, 14:05:09 CET" */
export function absoluteTime(at: Date, zone: string): string {
  const day = format(zone, { weekday: "short", day: "numeric", month: "short", year: "numeric" }).format(at);
  return `${day.replace(",", "")}, ${clockTime(at, zone, true)} ${zoneName(at, zone)}`;
}

/** "14:05" or "14:05:09" */
export function clockTime(at: Date, zone: string, seconds = false): string {
  return format(zone, {
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
    ...(seconds ? { second: "2-digit" } : {}),
  }).format(at);
}

/** "17 Nov, 14:05", with the year if it is another one */
export function shortTime(at: Date, zone: string, now: Date): string {
  const sameYear = at.getUTCFullYear() === now.getUTCFullYear();
  const day = format(zone, { day: "numeric", month: "short", ...(sameYear ? {} : { year: "numeric" }) }).format(at);
  return `${day}, ${clockTime(at, zone)}`;
}

/** "CET", "UTC", "GMT+5:30" */
export function zoneName(at: Date, zone: string): string {
  const part = format(zone, { timeZoneName: "short" }).formatToParts(at).find(({ type }) => type === "timeZoneName");
  return part?.value ?? zone;
}

/** "now", "in 4 min", "3 h ago"; beyond a week the date itself, which says more. `grace`: so many seconds after the time it
 * still is now. */
export function relativeTime(at: Date, now: Date, zone: string, grace = 0): string {
  const seconds = Math.round((at.getTime() - now.getTime()) / 1000);
  const size = Math.abs(seconds);
  if (size < 1 || (seconds < 0 && size < grace)) return "now";
  if (size >= WEEK) return shortTime(at, zone, now);
  const words = roughly(size);
  return seconds > 0 ? `in ${words}` : `${words} ago`;
}

function roughly(seconds: number): string {
  if (seconds < MINUTE) return `${seconds} s`;
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min`;
  if (seconds < DAY) return `${Math.floor(seconds / HOUR)} h`;
  return `${Math.floor(seconds / DAY)} d`;
}

/** Milliseconds until the relative form of this time changes. */
export function changesIn(at: Date, now: Date): number {
  const size = Math.abs(at.getTime() - now.getTime()) / 1000;
  if (size < 2 * MINUTE) return 1000;
  return size < DAY ? 30_000 : 10 * 60_000;
}
