/** How long the attempts of each task usually take, in milliseconds, from its steps weighted by how many ran. */
export function typicalRunTimes(points: readonly { task?: string | null; completed: number; run_time: { p50: number } | null }[]): Map<string, number> {
  const sums = new Map<string, { time: number; runs: number }>();
  for (const { task, completed, run_time } of points) {
    if (!task || !run_time || completed === 0) continue;
    const sum = sums.get(task) ?? { time: 0, runs: 0 };
    sums.set(task, { time: sum.time + run_time.p50 * completed, runs: sum.runs + completed });
  }
  return new Map([...sums].map(([task, { time, runs }]) => [task, (time / runs) * 1000]));
}

/** About how many slots were busy in each step: what ran, times how long it took. */
export function busySlots(points: readonly { at: string; started: number; run_time: { p50: number } | null }[], step: number): { at: number; busy: number }[] {
  return points.map(({ at, started, run_time }) => ({ at: Date.parse(at), busy: (started * (run_time?.p50 ?? 0) * 1000) / step }));
}

interface Count {
  at: string;
  count: number;
  task?: string | null;
}

/** The average of how many want a slot in each step, where due times are counted and not listed. */
export function countedDemand(counts: readonly Count[], typical: ReadonlyMap<string, number>, usual: number, step: number): { at: number; wanted: number }[] {
  const sums = new Map<number, number>();
  for (const { at, count, task } of counts) {
    if (task === "http") continue;
    const time = Date.parse(at);
    sums.set(time, (sums.get(time) ?? 0) + (count * (typical.get(task ?? "") ?? usual)) / step);
  }
  return [...sums].map(([at, wanted]) => ({ at, wanted })).toSorted((one, other) => one.at - other.at);
}
