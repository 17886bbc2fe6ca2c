import { expect, test } from "vitest";
import { runOfDueTime, runOfExecution, runOfPoint, typicalLength } from "./runsOf";

const now = Date.parse("2026-11-17T12:00:00Z");
const at = (seconds: number) => new Date(now + seconds * 1000).toISOString();
const execution = (change: object) => ({
  id: "x", status: "completed" as const, waiting_for: null, due_at: at(-60), started_at: at(-50), finished_at: at(-20), ...change,
});

test("what ended lies between its start and its end", () => {
  expect(runOfExecution(execution({}), now)).toMatchObject({ state: "completed", from: now - 50_000, until: now - 20_000 });
});

test("what runs reaches to now", () => {
  const running = execution({ status: "running", finished_at: null });
  expect(runOfExecution(running, now)).toMatchObject({ state: "running", from: now - 50_000, until: now });
});

test("what waits reaches from its due time to now, and a retry is told apart", () => {
  const waiting = execution({ status: "pending", waiting_for: "retry", finished_at: null });
  expect(runOfExecution(waiting, now)).toMatchObject({ state: "retrying", from: now - 60_000, until: now });
});

test("what is not due yet is in the future", () => {
  const later = execution({ status: "pending", due_at: at(30), started_at: null, finished_at: null });
  expect(runOfExecution(later, now)).toMatchObject({ state: "due", from: now + 30_000 });
});

test("what was skipped has no length", () => {
  const skipped = execution({ status: "skipped", started_at: null, finished_at: null });
  expect(runOfExecution(skipped, now)).toMatchObject({ state: "skipped", from: now - 60_000, until: now - 60_000 });
});

test("a step with one failure among many is a failed one that says both", () => {
  const point = { at: at(-600), completed: 99, failed: 1, skipped: 0, cancelled: 0 };
  expect(runOfPoint(point, 300_000, now)).toEqual([
    { state: "failed", from: now - 600_000, until: now - 300_000, counts: { failed: 1, completed: 99 } },
  ]);
});

test("a step in which nothing ended is no run, and the last step ends now", () => {
  const point = { at: at(-60), completed: 0, failed: 0, skipped: 0, cancelled: 0 };
  expect(runOfPoint(point, 300_000, now)).toEqual([]);
  expect(runOfPoint({ ...point, completed: 2 }, 300_000, now)).toMatchObject([{ until: now }]);
});

test("what is due takes as long as usual", () => {
  const lengths = [10, 30, 20].map((seconds) => execution({ finished_at: at(-50 + seconds) }));
  expect(typicalLength(lengths)).toBe(20_000);
  expect(typicalLength([])).toBeUndefined();
  expect(runOfDueTime(at(60), 20_000)).toMatchObject({ from: now + 60_000, until: now + 80_000 });
});
