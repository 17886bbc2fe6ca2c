import { absoluteTime } from "./formatTime";

/** "Mon 23 Nov, 02:30 CET": a due time in a list, without seconds where there are none and without the year where it is
 * this one. */
export function dueTimeText(at: Date, zone: string, now: Date): string {
  const full = absoluteTime(at, zone);
  const withoutSeconds = at.getUTCSeconds() === 0 ? full.replace(/(\d\d:\d\d):00 /, "$1 ") : full;
  return at.getUTCFullYear() === now.getUTCFullYear() ? withoutSeconds.replace(/ \d{4},/, ",") : withoutSeconds;
}
