import { expect, test } from "vitest";
import { type Candidate, candidatesOf, chooseLanes, usualLanes } from "./chooseLanes";

const candidate = (id: string, change: Partial<Candidate> = {}): Candidate => ({ id, failed: 0, running: 0, ended: 0, due: 0, ...change });

test("failing ones come first, then those with failures, then the busiest", () => {
  const { lanes } = chooseLanes([
    candidate("idle"),
    candidate("busy", { ended: 400 }),
    candidate("failed once", { failed: 1 }),
    candidate("failing", { failing: true }),
  ]);
  expect(lanes.map(({ id }) => id)).toEqual(["failing", "failed once", "busy", "idle"]);
});

test("at most twelve have a lane, and the rest is counted", () => {
  const { lanes, left } = chooseLanes(Array.from({ length: 40 }, (_, place) => candidate(`${place}`)));
  expect(lanes).toHaveLength(12);
  expect(left).toBe(28);
});

test("lanes are tasks where jobs run only once", () => {
  const once = Array.from({ length: 100 }, (_, place) => `job ${place}`);
  expect(usualLanes(once)).toBe("task");
  expect(usualLanes(once.map((_, place) => `job ${place % 9}`))).toBe("job");
  expect(usualLanes(["a", "b"])).toBe("job");
});

test("candidates are counted by job or by task", () => {
  const executions = [
    { job_id: "1", task: "mail", status: "completed" },
    { job_id: "2", task: "mail", status: "failed" },
    { job_id: "2", task: "mail", status: "running" },
  ];
  const due = [{ job_id: "3", task: "report", name: "weekly" }];
  expect(candidatesOf("job", executions, due, []).map(({ id, name }) => [id, name])).toEqual([["1", null], ["2", null], ["3", "weekly"]]);
  expect(candidatesOf("task", executions, due, [])).toEqual([
    { id: "mail", name: "mail", failed: 1, running: 1, ended: 1, due: 0 },
    { id: "report", name: "report", failed: 0, running: 0, ended: 0, due: 1 },
  ]);
});

test("a failing job has a lane even if it did not run lately", () => {
  const failing = [{ job_id: "9", task: "etl", name: "nightly", failures_in_a_row: 3 }];
  expect(candidatesOf("job", [], [], failing)).toMatchObject([{ id: "9", name: "nightly", failing: true }]);
});
