import { describe, expect, it } from "vitest";
import type { Schemas } from "../../api/client";
import { placeOf, stretches, timelineRows } from "./attemptTimeline";

const START = Date.parse("2026-03-01T09:00:00Z");
const at = (seconds: number) => new Date(START + seconds * 1000).toISOString();

function execution(fields: Partial<Schemas["ExecutionView"]>): Schemas["ExecutionView"] {
  return {
    id: "e1", job_id: "j1", job_name: null, task: "etl", status: "completed", waiting_for: null, trigger: "schedule", attempt: 1, max_attempts: 4,
    scheduled_for: at(0), due_at: at(0), started_at: null, finished_at: null, worker: null, progress: null, result: null,
    error: null, reason: null, blocked_by: null, ...fields,
  };
}

function attempt(number: number, from: number, until: number | null, outcome: Schemas["AttemptOutcome"] | null): Schemas["AttemptView"] {
  return {
    attempt: number, started_at: at(from), finished_at: until === null ? null : at(until), outcome, error: null, worker: "w1",
    worker_name: null, log_tail: null, silent_for: null, usage: null,
  };
}

describe("timelineRows", () => {
  it("shows the wait before the first attempt and the back-off before the next one", () => {
    const rows = timelineRows(execution({}), [attempt(1, 1, 3, "failed"), attempt(2, 13, 14, "completed")], START + 60_000);
    expect(rows.map((row) => row.segments.map((each) => each.kind))).toEqual([["waiting", "running"], ["back-off", "running"]]);
    expect(rows[1]?.segments[0]).toMatchObject({ from: START + 3000, until: START + 13_000 });
  });

  it("lets an attempt that runs grow until now", () => {
    const [row] = timelineRows(execution({ status: "running" }), [attempt(1, 0, null, null)], START + 5000);
    expect(row?.segments).toMatchObject([{ kind: "running", until: START + 5000, isOpen: true }]);
  });

  it("adds the attempt that is to come, until it is due", () => {
    const pending = execution({ status: "pending", waiting_for: "retry", due_at: at(30), attempt: 1 });
    const rows = timelineRows(pending, [attempt(1, 0, 2, "failed")], START + 5000);
    expect(rows).toHaveLength(2);
    expect(rows[1]).toMatchObject({ attempt: 2, segments: [{ kind: "back-off", from: START + 2000, until: START + 30_000, isOpen: true }] });
  });

  it("has nothing to show for what was skipped", () => {
    expect(timelineRows(execution({ status: "skipped" }), [], START)).toEqual([]);
  });
});

describe("stretches", () => {
  it("folds a long wait between attempts and keeps the attempts readable", () => {
    const rows = timelineRows(execution({}), [attempt(1, 0, 2, "failed"), attempt(2, 3602, 3604, "completed")], START + 9e6);
    const axis = stretches(rows);
    expect(axis.map((each) => each.folded)).toEqual([false, true, false]);
    expect(placeOf(START + 2000, axis)).toBeCloseTo(0.47);
    expect(placeOf(START + 3_602_000, axis)).toBeCloseTo(0.53);
    expect(placeOf(START + 3_604_000, axis)).toBeCloseTo(1);
  });

  it("does not fold short waits", () => {
    const rows = timelineRows(execution({}), [attempt(1, 1, 9, "failed"), attempt(2, 10, 19, "completed")], START + 9e6);
    expect(stretches(rows)).toEqual([{ from: START, until: START + 19_000, folded: false }]);
  });

  it("shows a wait alone as it is", () => {
    const rows = timelineRows(execution({ status: "pending", due_at: at(60) }), [], START + 1000);
    expect(stretches(rows)).toEqual([{ from: START, until: START + 60_000, folded: false }]);
  });
});
