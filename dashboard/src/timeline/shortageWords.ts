import { formatDuration } from "../time/formatDuration";
import { clockTime, shortTime } from "../time/formatTime";
import type { Shortage } from "./expectedConcurrency";

const DAY = 86_400_000;

/** "02:00–02:20: 38 wanted, 24 slots; the last starts 4 m 00 s late" */
export function shortageWords({ from, until, wanted, slots, latest }: Shortage, zone: string, now: number): string {
  const [begin, end] = [new Date(from), new Date(until)];
  const start = from - now > DAY ? shortTime(begin, zone, new Date(now)) : clockTime(begin, zone);
  const rest = clockTime(end, zone) === clockTime(begin, zone) ? "" : `–${clockTime(end, zone)}`;
  const late = `the last starts ${formatDuration(latest / 1000)} late`;
  return `${start}${rest}: ${wanted.toLocaleString("en")} wanted, ${slots.toLocaleString("en")} slots; ${late}`;
}

const SERIOUS = 1_000; // milliseconds of waiting that are worth a word

/** The ones that hurt most, in the order of time. */
export function worstShortages(shortages: readonly Shortage[], most = 3): Shortage[] {
  return shortages
    .filter(({ latest }) => latest >= SERIOUS)
    .toSorted((one, other) => other.latest - one.latest)
    .slice(0, most)
    .toSorted((one, other) => one.from - other.from);
}
