import { executionLook, type Pattern, type StateLook } from "../parts/states";

/** One of a job's latest executions, as GET /v1/jobs?recent=30 gives it. */
export interface RecentRun {
  id: string;
  status: string;
  scheduled_for: string;
  started_at?: string | null;
  finished_at?: string | null;
  duration?: number | null;
  /** If it is not that of an execution. */
  look?: StateLook;
}

export interface OutcomeBar {
  id: string;
  /** Share of the strip's height, from SHORTEST to 1. */
  height: number;
  pattern: Pattern;
  color: string;
  words: string;
}

const SHORTEST = 0.18; // so that a quick run can still be seen
const SLOTS = 30;

/** The bars of a strip, oldest first. Heights are by the logarithm of the duration: runs differ by magnitudes. */
export function outcomeBars(runs: readonly RecentRun[], formatDuration: (seconds: number) => string): OutcomeBar[] {
  const shown = runs.toSorted((one, other) => one.scheduled_for.localeCompare(other.scheduled_for)).slice(-SLOTS);
  const longest = Math.max(0, ...shown.map((run) => durationOf(run) ?? 0));
  return shown.map((run) => {
    const duration = durationOf(run);
    const look = run.look ?? executionLook(run.status);
    return {
      id: run.id,
      height: heightOf(duration, longest),
      pattern: look.pattern,
      color: look.color,
      words: duration === null ? look.word : `${look.word}, ${formatDuration(duration)}`,
    };
  });
}

export function durationOf(run: RecentRun): number | null {
  if (typeof run.duration === "number") return run.duration;
  if (!run.started_at || !run.finished_at) return null;
  return (Date.parse(run.finished_at) - Date.parse(run.started_at)) / 1000;
}

function heightOf(duration: number | null, longest: number): number {
  if (duration === null || longest <= 0) return duration === null ? 0.4 : SHORTEST;
  const share = Math.log1p(duration * 1000) / Math.log1p(longest * 1000);
  return Math.max(SHORTEST, Math.min(1, share));
}

/** "28 completed, 2 failed": what a screen reader says about the strip. */
export function stripWords(runs: readonly RecentRun[]): string {
  const counts = new Map<string, number>();
  for (const { status } of runs) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} ${status}`).join(", ");
}
