import { formatDuration } from "../time/formatDuration";
import { isPulse } from "./eventKinds";

export interface EventRow {
  id: number | null;
  kind: string;
  at: string;
  job_id: string | null;
  execution_id: string | null;
  task: string | null;
  queue: string | null;
}

export interface EventFilter {
  kind?: string | undefined;
  job?: string | undefined;
  task?: string | undefined;
  queue?: string | undefined;
}

/** Whether a live event is one that the filters want. */
export function isWanted(event: Pick<EventRow, "kind" | "job_id" | "task" | "queue">, { kind, job, task, queue }: EventFilter): boolean {
  const kinds = kind?.endsWith(".*") ? event.kind.startsWith(kind.slice(0, -1)) : kind === undefined || event.kind === kind;
  return kinds && (!job || event.job_id === job) && (!task || event.task === task) && (!queue || event.queue === queue);
}

/** What is kept and what is live in one list, the latest first. */
export function mergeRows<Row extends { kind: string; at: string }>(kept: readonly Row[], live: readonly Row[]): Row[] {
  const pulse = live.filter(({ kind }) => isPulse(kind));
  if (pulse.length === 0) return [...kept];
  return [...kept, ...pulse].toSorted((one, other) => Date.parse(other.at) - Date.parse(one.at));
}

type Detail = Record<string, unknown>;

const DURATIONS = new Set(["start_delay", "run_time", "for"]); // in seconds

/** What an event says beyond its own fields: "attempt 2 · reason: overlap". */
export function detailWords({ attempt, error_type, detail }: { attempt?: number | null; error_type?: string | null; detail?: Detail | null }): string {
  const given = Object.entries(detail ?? {}).filter(([, value]) => value !== null && value !== "");
  const more = given.map(([name, value]) => wordsOf(name, value));
  return [error_type, attempt && attempt > 1 ? `attempt ${attempt}` : null, ...more].filter(Boolean).join(" · ");
}

function wordsOf(name: string, value: unknown): string {
  if (name === "by") return `by ${typeof value === "string" ? value : String((value as Detail)["name"])}`;
  if (name === "fields") return `changed ${(value as Detail[]).map(({ field }) => String(field)).join(", ")}`;
  if (value === true) return spaced(name);
  if (DURATIONS.has(name) && typeof value === "number") return `${spaced(name)}: ${formatDuration(value)}`;
  return `${spaced(name)}: ${typeof value === "string" ? value : JSON.stringify(value)}`;
}

function spaced(name: string): string {
  return name.replaceAll("_", " ");
}
