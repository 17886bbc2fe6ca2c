export const MOST_LANES = 12;

/** What is known of a job or task before its lane is drawn. */
export interface Candidate {
  id: string;
  name?: string | null;
  failing?: boolean;
  failed: number;
  running: number;
  ended: number;
  due: number;
}

export interface LaneChoice {
  lanes: Candidate[];
  /** How many have no lane. */
  left: number;
}

const ENOUGH = 50; // executions that tell what an installation is like

/** Failing ones first, then those with failures, then the busiest; equal ones keep their order. */
export function chooseLanes(candidates: readonly Candidate[], most = MOST_LANES): LaneChoice {
  const ranked = candidates.toSorted((one, other) => rank(other) - rank(one));
  return { lanes: ranked.slice(0, most), left: Math.max(0, ranked.length - most) };
}

function rank({ failing, failed, running, ended, due }: Candidate): number {
  const busy = Math.min(running * 3 + ended + due, 9_999);
  return (failing ? 1_000_000 : 0) + (failed > 0 ? 100_000 : 0) + Math.min(failed, 9) * 10_000 + busy;
}

/** Where most jobs run one time only, lanes of jobs would say nothing: lanes are tasks then. */
export function usualLanes(jobIds: readonly string[]): "job" | "task" {
  return jobIds.length >= ENOUGH && new Set(jobIds).size > jobIds.length / 2 ? "task" : "job";
}

interface Counted {
  job_id: string;
  task: string;
  status: string;
}

interface Due {
  job_id: string;
  task: string;
  name?: string | null;
}

/** Counts what ran and what is due, for each job or each task. */
export function candidatesOf(
  by: "job" | "task",
  executions: readonly Counted[],
  due: readonly Due[],
  failing: readonly (Due & { failures_in_a_row: number })[],
): Candidate[] {
  const found = new Map<string, Candidate>();
  const of = (each: { job_id: string; task: string; name?: string | null }) => {
    const id = by === "job" ? each.job_id : each.task;
    const candidate = found.get(id) ?? { id, name: by === "task" ? id : null, failed: 0, running: 0, ended: 0, due: 0 };
    if (by === "job" && each.name) candidate.name = each.name;
    found.set(id, candidate);
    return candidate;
  };
  for (const each of failing) of(each).failing = true;
  for (const each of executions) {
    const candidate = of(each);
    if (each.status === "failed") candidate.failed += 1;
    else if (each.status === "running") candidate.running += 1;
    else candidate.ended += 1;
  }
  for (const each of due) of(each).due += 1;
  return [...found.values()];
}
