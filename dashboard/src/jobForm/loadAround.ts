/** How busy the minutes around a due time are. */
export interface MinuteLoad {
  at: string;
  count: number;
}

export interface LoadWords {
  /** At the chosen minute. */
  here: number;
  most: number;
  /** The nearest of the emptiest minutes. */
  quietest: MinuteLoad | null;
}

const MINUTE = 60_000;

/** Every minute of the range, those without due times too: the API leaves them out. */
export function minutesOf(items: readonly MinuteLoad[], from: Date, minutes: number): MinuteLoad[] {
  const counts = new Map(items.map(({ at, count }) => [Math.floor(Date.parse(at) / MINUTE), count]));
  const first = Math.floor(from.getTime() / MINUTE);
  return Array.from({ length: minutes }, (_, offset) => ({
    at: new Date((first + offset) * MINUTE).toISOString(),
    count: counts.get(first + offset) ?? 0,
  }));
}

export function describeLoad(minutes: readonly MinuteLoad[], at: string): LoadWords {
  const chosen = Math.floor(Date.parse(at) / MINUTE);
  const distance = (minute: MinuteLoad) => Math.abs(Math.floor(Date.parse(minute.at) / MINUTE) - chosen);
  const here = minutes.find((minute) => distance(minute) === 0)?.count ?? 0;
  const quietest = minutes.toSorted((one, other) => one.count - other.count || distance(one) - distance(other))[0] ?? null;
  return { here, most: Math.max(0, ...minutes.map(({ count }) => count)), quietest: quietest && quietest.count < here ? quietest : null };
}
