import { expect, test } from "vitest";
import { byImportance, mergeRuns, type Run } from "./mergeRuns";

const run = (from: number, until: number, state = "completed"): Run => ({ state, from, until, counts: { [state]: 1 }, id: `${from}` });

test("runs that are far apart stay bars of their own, with their ids", () => {
  const bars = mergeRuns([run(0, 10), run(100, 110)], 1);
  expect(bars.map(({ id, count }) => [id, count])).toEqual([["0", 1], ["100", 1]]);
});

test("neighbours of the same state become one bar with a count and no id", () => {
  const [bar, ...others] = mergeRuns([run(11, 20), run(0, 10), run(22, 30)], 1);
  expect(others).toEqual([]);
  expect(bar).toEqual({ state: "completed", from: 0, until: 30, counts: { completed: 3 }, count: 3 });
});

test("what is one bar from afar is three from near", () => {
  const runs = [run(0, 10), run(20, 30), run(40, 50)];
  expect(mergeRuns(runs, 10)).toHaveLength(1);
  expect(mergeRuns(runs, 1)).toHaveLength(3);
});

test("bars that are drawn wider than they last do not touch", () => {
  expect(mergeRuns([run(0, 0), run(7, 7), run(14, 14)], 1)).toMatchObject([{ count: 3 }]);
  expect(mergeRuns([run(0, 0), run(9, 9)], 1)).toHaveLength(2);
});

test("a failure between successes is never swallowed", () => {
  const bars = mergeRuns([run(0, 1), run(1, 2, "failed"), run(2, 3)], 100);
  expect(bars.map(({ state }) => state)).toEqual(["completed", "failed", "completed"]);
});

test("runs at the same time count together, and the bar ends with the longest", () => {
  expect(mergeRuns([run(0, 50), run(5, 10)], 1)).toMatchObject([{ from: 0, until: 50, count: 2 }]);
});

test("failures are drawn last", () => {
  const bars = byImportance(mergeRuns([run(0, 1, "failed"), run(100, 101), run(200, 201, "running")], 1));
  expect(bars.map(({ state }) => state)).toEqual(["completed", "running", "failed"]);
});
