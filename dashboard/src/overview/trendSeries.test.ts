import { expect, test } from "vitest";
import type { Point } from "./overviewTypes";
import { trendSeries } from "./trendSeries";

const point = { at: "2026-11-17T12:01:00Z", completed: 7, failed: 2, start_delay: { p50: 0.1, p95: 0.2, p99: 0.3 } } as Point;
const from = Date.parse("2026-11-17T12:00:00Z");

test("steps in which nothing happened are there, with nothing ran and no delay", () => {
  const series = trendSeries([point], from, from + 180_000, 60_000);
  expect(series.times).toEqual([from / 1000, from / 1000 + 60, from / 1000 + 120]);
  expect(series.ran).toEqual([0, 9, 0]);
  expect(series.failed).toEqual([0, 2, 0]);
  expect(series.p95).toEqual([null, 0.2, null]);
});

test("a step that began before the range is left out", () => {
  expect(trendSeries([], from + 1, from + 120_000, 60_000).times).toEqual([from / 1000 + 60]);
});
