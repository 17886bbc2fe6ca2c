import type { Schemas } from "../api/client";
import { jobTitle } from "../parts/jobTitle";
import type { Run } from "./mergeRuns";

/** A job or a task on the time line. Times and lengths in milliseconds. */
export interface Row {
  id: string;
  title: string;
  failing: boolean;
  runs: Run[];
  /** How long a run usually takes, if it is known. */
  typical: number | undefined;
  /** The next due time. */
  next: number | undefined;
  /** What was due before is too much to be shown. */
  completeSince: number | undefined;
}

export function rowOf(row: Schemas["TimelineRow"], now: number): Row {
  return {
    id: row.id,
    title: jobTitle(row),
    failing: row.failing,
    runs: row.bars.map((bar) => runOf(bar, now)),
    typical: row.run_time === null ? undefined : row.run_time * 1000,
    next: timeOf(row.next_at),
    completeSince: timeOf(row.complete_since),
  };
}

/** What has not ended lasts until now. */
function runOf({ state, from: begin, until, counts, execution_id }: Schemas["TimelineBar"], now: number): Run {
  const from = Date.parse(begin);
  return { state, from, until: Math.max(from, timeOf(until) ?? now), counts, ...(execution_id ? { id: execution_id } : {}) };
}

function timeOf(at: string | null | undefined): number | undefined {
  return at ? Date.parse(at) : undefined;
}
