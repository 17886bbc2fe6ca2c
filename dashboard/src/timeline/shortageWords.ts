import type { Schemas } from "../api/client";
import { formatDuration } from "../time/formatDuration";
import { clockTime, shortTime } from "../time/formatTime";

type Shortage = Schemas["Shortage"];

const DAY = 86_400_000;

/** "02:00–02:20: 38 wanted, 24 slots; the last starts 4 min late" */
export function shortageWords({ from, until, wanted, slots, delay }: Shortage, zone: string, now: number): string {
  const [begin, end] = [new Date(from), new Date(until)];
  const start = begin.getTime() - now > DAY ? shortTime(begin, zone, new Date(now)) : clockTime(begin, zone);
  const rest = clockTime(end, zone) === clockTime(begin, zone) ? "" : `–${clockTime(end, zone)}`;
  const late = `the last starts ${formatDuration(delay)} late`;
  return `${start}${rest}: ${wanted.toLocaleString("en")} wanted, ${slots.toLocaleString("en")} slots; ${late}`;
}

const SERIOUS = 1; // seconds of waiting that are worth a word

/** The ones that hurt most, in the order of time. */
export function worstShortages(shortages: readonly Shortage[], most = 3): Shortage[] {
  return shortages
    .filter(({ delay }) => delay >= SERIOUS)
    .toSorted((one, other) => other.delay - one.delay)
    .slice(0, most)
    .toSorted((one, other) => Date.parse(one.from) - Date.parse(other.from));
}
