/** One or more runs of a row: an execution, or those of one step of statistics. Times in milliseconds. */
export interface Run {
  /** Of the worst of them: a status of an execution, "retrying", or "due" for what is to come. */
  state: string;
  from: number;
  until: number;
  counts: Readonly<Record<string, number>>;
  /** Of the execution, if it is one. */
  id?: string;
}

export type Bar = Run & { count: number };

const CLOSEST = 3; // pixels between two bars of the same state
export const NARROWEST = 5; // pixels: the shortest run can still be seen

/** Runs of one row as bars: neighbours of the same state that the eye could not tell apart become one bar with a count. */
export function mergeRuns(runs: readonly Run[], msPerPixel: number): Bar[] {
  const bars: Bar[] = [];
  let drawnUntil = -Infinity; // of the last bar
  for (const run of runs.toSorted((one, other) => one.from - other.from)) {
    const last = bars.at(-1);
    const end = Math.max(run.until, run.from + NARROWEST * msPerPixel);
    if (last && last.state === run.state && run.from - drawnUntil <= CLOSEST * msPerPixel) {
      bars[bars.length - 1] = joined(last, run);
      drawnUntil = Math.max(drawnUntil, end);
    } else {
      bars.push({ ...run, count: total(run.counts) });
      drawnUntil = end;
    }
  }
  return bars;
}

function joined(bar: Bar, run: Run): Bar {
  const counts: Record<string, number> = { ...bar.counts };
  for (const [state, count] of Object.entries(run.counts)) counts[state] = (counts[state] ?? 0) + count;
  return { state: bar.state, from: bar.from, until: Math.max(bar.until, run.until), counts, count: total(counts) };
}

function total(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

const SEVERITY = ["due", "skipped", "cancelled", "completed", "pending", "running", "retrying", "failed"];

/** What needs to be seen most is drawn last, over the rest. */
export function byImportance(bars: readonly Bar[]): Bar[] {
  return bars.toSorted((one, other) => SEVERITY.indexOf(one.state) - SEVERITY.indexOf(other.state));
}
