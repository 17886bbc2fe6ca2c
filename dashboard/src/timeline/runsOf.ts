import type { Schemas } from "../api/client";
import type { Run } from "./mergeRuns";

type Execution = Pick<Schemas["ExecutionView"], "id" | "status" | "waiting_for" | "due_at" | "started_at" | "finished_at">;
type Point = Pick<Schemas["StatisticsPoint"], "at" | "completed" | "failed" | "skipped" | "cancelled">;

/** An execution as it lies in time: from its start to its end, or to now while it lasts. */
export function runOfExecution(execution: Execution, now: number): Run {
  const { id, status, waiting_for, due_at, started_at, finished_at } = execution;
  const due = Date.parse(due_at);
  if (status === "pending" && due > now) return { id, state: "due", from: due, until: due, counts: { due: 1 } };
  const state = status === "pending" && waiting_for === "retry" ? "retrying" : status;
  const from = started_at && status !== "pending" ? Date.parse(started_at) : due;
  const hasEnded = status !== "running" && status !== "pending";
  const until = hasEnded ? Date.parse(finished_at ?? "") || from : now;
  return { id, state, from, until: Math.max(from, until), counts: { [state]: 1 } };
}

/** A step of statistics as one run: its state is that of the worst that happened in it. */
export function runOfPoint(point: Point, length: number, now: number): Run[] {
  const states = ["failed", "completed", "cancelled", "skipped"] as const;
  const counts = Object.fromEntries(states.filter((state) => point[state] > 0).map((state) => [state, point[state]]));
  const state = states.find((each) => point[each] > 0);
  const from = Date.parse(point.at);
  return state ? [{ state, from, until: Math.min(from + length, Math.max(from, now)), counts }] : [];
}

/** What is to come, for as long as it usually takes. */
export function runOfDueTime(at: string, typical: number): Run {
  const from = Date.parse(at);
  return { state: "due", from, until: from + typical, counts: { due: 1 } };
}

/** The median of how long finished runs took, in milliseconds; undefined if there are none. */
export function typicalLength(executions: readonly Execution[]): number | undefined {
  const lengths = executions
    .filter(({ status, started_at, finished_at }) => status === "completed" && started_at && finished_at)
    .map(({ started_at, finished_at }) => Date.parse(finished_at ?? "") - Date.parse(started_at ?? ""))
    .toSorted((one, other) => one - other);
  return lengths[Math.floor(lengths.length / 2)];
}
