/** How an action on many is spoken of. */
export interface ActionWords {
  /** On the button. */
  verb: string;
  /** What was done: "paused". */
  past: string;
  /** What it means, for the confirmation. */
  effect: string;
  danger?: boolean;
  needsTags?: boolean;
  /** It may also stop what runs. */
  canStopRunning?: boolean;
}

export type BulkResource = "jobs" | "executions";

const ONE: Record<BulkResource, string> = { jobs: "job", executions: "execution" };

/** "1 job", "1,204 jobs", "at least 10,000 executions" */
export function counted(resource: BulkResource, count: number, exact = true): string {
  return `${exact ? "" : "at least "}${count.toLocaleString("en")} ${count === 1 ? ONE[resource] : resource}`;
}
