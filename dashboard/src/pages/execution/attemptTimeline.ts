import type { Schemas } from "../../api/client";
import { EXECUTION_LOOKS, type StateLook, WAITING_LOOKS } from "../../parts/states";

type Execution = Schemas["ExecutionView"];
type Attempt = Schemas["AttemptView"];

export type SegmentKind = "waiting" | "back-off" | "running";

/** A stretch of an attempt; times in milliseconds. */
export interface Segment {
  kind: SegmentKind;
  from: number;
  until: number;
  look: StateLook;
  /** Whether it goes on. */
  isOpen: boolean;
}

export interface TimelineRow {
  attempt: number;
  segments: Segment[];
}

/** A stretch of time on the axis; one that is folded takes little room. */
export interface Stretch {
  from: number;
  until: number;
  folded: boolean;
}

const OUTCOME_LOOKS: Record<string, StateLook> = {
  completed: EXECUTION_LOOKS.completed,
  failed: EXECUTION_LOOKS.failed,
  lost: { ...EXECUTION_LOOKS.failed, word: "Lost", pattern: "hatched" },
  cancelled: EXECUTION_LOOKS.cancelled,
  snoozed: { ...WAITING_LOOKS.retry, word: "Snoozed" },
  returned: { ...EXECUTION_LOOKS.skipped, word: "Returned by the worker" },
  held: { ...EXECUTION_LOOKS.skipped, word: "Held by a circuit breaker" },
};

/** How an attempt ended; null while it runs. */
export function outcomeLook(outcome: string | null): StateLook {
  if (outcome === null) return EXECUTION_LOOKS.running;
  return OUTCOME_LOOKS[outcome] ?? { ...EXECUTION_LOOKS.skipped, word: outcome };
}

/** A row for each attempt: how long it waited, then how long it ran. Another row, if one more attempt is to come. */
export function timelineRows(execution: Execution, attempts: readonly Attempt[], now: number): TimelineRow[] {
  const rows: TimelineRow[] = [];
  let since = Date.parse(execution.scheduled_for);
  for (const attempt of attempts) {
    if (!attempt.started_at) continue;
    const started = Date.parse(attempt.started_at);
    const ended = attempt.finished_at ? Date.parse(attempt.finished_at) : now;
    const segments = wait(rows.length, since, started, false);
    segments.push({ kind: "running", from: started, until: Math.max(started, ended), look: outcomeLook(attempt.outcome), isOpen: !attempt.finished_at });
    rows.push({ attempt: attempt.attempt, segments });
    since = Math.max(started, ended);
  }
  if (execution.status === "pending") {
    const until = Math.max(now, Date.parse(execution.due_at));
    rows.push({ attempt: (attempts.at(-1)?.attempt ?? 0) + 1, segments: wait(rows.length, since, until, true) });
  }
  return rows;
}

function wait(before: number, from: number, until: number, isOpen: boolean): Segment[] {
  if (until <= from) return [];
  const kind = before === 0 ? "waiting" : "back-off";
  return [{ kind, from, until, look: before === 0 ? WAITING_LOOKS.worker : WAITING_LOOKS.retry, isOpen }];
}

const LONG = 0.2; // of the whole: a longer stretch without an attempt is folded
const FOLDED = 0.06; // of the width: the room of a folded stretch

/** The axis: everything from the first to the last moment, with long waits folded if something else is shown, too. */
export function stretches(rows: readonly TimelineRow[]): Stretch[] {
  const segments = rows.flatMap((row) => row.segments);
  if (segments.length === 0) return [];
  const first = Math.min(...segments.map((each) => each.from));
  const last = Math.max(...segments.map((each) => each.until), first + 1);
  const runs = segments.filter((each) => each.kind === "running").toSorted((one, other) => one.from - other.from);
  if (runs.length === 0) return [{ from: first, until: last, folded: false }];
  const parts: Stretch[] = [];
  const add = (from: number, until: number, idle: boolean) => {
    if (until <= from) return;
    const folded = idle && until - from > LONG * (last - first);
    const before = parts.at(-1);
    if (before && !before.folded && !folded) before.until = until;
    else parts.push({ from, until, folded });
  };
  let at = first;
  for (const run of runs) {
    add(at, run.from, true);
    add(Math.max(at, run.from), run.until, false);
    at = Math.max(at, run.until);
  }
  add(at, last, true);
  return parts;
}

/** Where a moment is on the axis, from 0 to 1. */
export function placeOf(at: number, axis: readonly Stretch[]): number {
  const folds = axis.filter((each) => each.folded).length;
  const shown = axis.reduce((sum, each) => sum + (each.folded ? 0 : each.until - each.from), 0);
  const room = shown > 0 ? 1 - folds * FOLDED : 1;
  const foldedRoom = shown > 0 ? FOLDED : 1 / Math.max(1, folds);
  let place = 0;
  for (const each of axis) {
    const width = each.folded ? foldedRoom : (room * (each.until - each.from)) / shown;
    if (at <= each.until) return place + width * clamp((at - each.from) / (each.until - each.from));
    place += width;
  }
  return 1;
}

function clamp(share: number): number {
  return Math.min(1, Math.max(0, share));
}
