import { expect, test } from "vitest";
import { busySlots, countedDemand, typicalRunTimes } from "./runTimes";

test("a typical run time is that of most runs, not of most hours", () => {
  const points = [
    { task: "mail", completed: 99, run_time: { p50: 1 } },
    { task: "mail", completed: 1, run_time: { p50: 101 } },
    { task: "never ran", completed: 0, run_time: null },
  ];
  expect([...typicalRunTimes(points)]).toEqual([["mail", 2000]]);
});

test("sixty runs of ten seconds in a minute keep ten slots busy", () => {
  expect(busySlots([{ at: "2026-11-17T12:00:00Z", started: 60, run_time: { p50: 10 } }], 60_000)[0]?.busy).toBe(10);
});

test("demand is added over tasks, and HTTP calls need no worker", () => {
  const at = "2026-11-17T12:00:00Z";
  const counts = [{ at, count: 60, task: "mail" }, { at, count: 60, task: "new" }, { at, count: 900, task: "http" }];
  expect(countedDemand(counts, new Map([["mail", 10_000]]), 1000, 60_000)).toEqual([{ at: Date.parse(at), wanted: 11 }]);
});
