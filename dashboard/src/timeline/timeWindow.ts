const HOUR = 3_600_000;

/** How far back the time line looks; the future gets three parts for every seven of the past. */
export const RANGES = { "1h": HOUR, "6h": 6 * HOUR, "24h": 24 * HOUR, "7d": 168 * HOUR } as const;

export type Range = keyof typeof RANGES;

/** In milliseconds since 1970. */
export interface TimeWindow {
  from: number;
  until: number;
}

const FUTURE_SHARE = 3 / 7;
const SHORTEST = 60_000;

export function rangeOf(text: string | undefined): Range {
  return text !== undefined && text in RANGES ? (text as Range) : "6h";
}

/** What is shown: around now, or the part that was zoomed into. */
export function windowOf(range: Range, now: number, from?: string, until?: string): TimeWindow {
  const chosen = { from: Date.parse(from ?? ""), until: Date.parse(until ?? "") };
  if (chosen.until - chosen.from >= SHORTEST) return chosen;
  return { from: now - RANGES[range], until: now + RANGES[range] * FUTURE_SHARE };
}

/** The part of a window between two shares of its width, no shorter than a minute. */
export function zoomed({ from, until }: TimeWindow, left: number, right: number): TimeWindow {
  const length = until - from;
  const part = { from: from + length * left, until: from + length * right };
  const missing = SHORTEST - (part.until - part.from);
  return missing > 0 ? { from: part.from - missing / 2, until: part.until + missing / 2 } : part;
}

/** Widens to whole steps, so that the same answer of the API serves until the next one. */
export function rounded({ from, until }: TimeWindow): TimeWindow {
  const step = Math.max(1000, 2 ** Math.floor(Math.log2((until - from) / 128)));
  return { from: Math.floor(from / step) * step, until: Math.ceil(until / step) * step };
}

export type StatsStep = "1m" | "5m" | "1h" | "1d";

export const STEP_LENGTHS: Record<StatsStep, number> = { "1m": 60_000, "5m": 300_000, "1h": HOUR, "1d": 24 * HOUR };

/** The step of statistics that gives a window neither too few nor too many columns, and is still kept. */
export function stepFor({ from, until }: TimeWindow, now: number): StatsStep {
  const length = until - from;
  const minutesAreKept = from > now - 6.9 * 24 * HOUR;
  if (minutesAreKept && length <= 4 * HOUR) return "1m";
  if (minutesAreKept && length <= 30 * HOUR) return "5m";
  return length <= 40 * 24 * HOUR ? "1h" : "1d";
}
