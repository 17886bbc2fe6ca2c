/** What channels can be told of: a word of the API, and what it means. */
export interface News {
  word: string;
  meaning: string;
}

/** Of a job. */
export const JOB_NEWS: readonly News[] = [
  { word: "failed", meaning: "It failed for good." },
  { word: "recovered", meaning: "It completed after a failure." },
  { word: "missed", meaning: "Due times were passed over." },
  { word: "retrying", meaning: "An attempt failed, another follows." },
  { word: "late", meaning: "It waits for a worker for over a minute." },
  { word: "slow", meaning: "It runs for over five minutes." },
  { word: "skipped", meaning: "It was skipped, as its policies say." },
  { word: "blocked", meaning: "It waits for a job that failed." },
  { word: "cancelled", meaning: "It was cancelled." },
  { word: "completed", meaning: "It completed." },
  { word: "backfill_done", meaning: "A backfill has ended." },
  { word: "workflow_done", meaning: "Nothing of its workflow is left to run." },
];

/** Of a queue as a whole. */
const QUEUE_NEWS: readonly News[] = [{ word: "queue_stuck", meaning: "Executions are due and none starts." }];

/** Of the installation as a whole. */
const TENANT_NEWS: readonly News[] = [
  { word: "missing", meaning: "A ping stays away." },
  { word: "dead_letters", meaning: "There are more than a limit." },
  { word: "breaker_opened", meaning: "A destination is not called for a while." },
  { word: "breaker_closed", meaning: "A destination is called again." },
  { word: "worker_lost", meaning: "A worker fell silent." },
  { word: "node_silent", meaning: "A server fires nothing." },
  { word: "commits_lost", meaning: "A failover of the database has lost commits." },
];

export type Scope = "all" | "tag" | "queue";

/** What a rule may tell of besides what jobs do. */
export function newsBesidesJobs(scope: Scope): readonly News[] {
  if (scope === "tag") return [];
  return scope === "queue" ? QUEUE_NEWS : [...QUEUE_NEWS, ...TENANT_NEWS];
}

/** "workflow done" */
export function newsWord(word: string): string {
  return word.replaceAll("_", " ");
}
