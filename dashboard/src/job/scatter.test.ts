import { expect, it } from "vitest";
import { scatterOf } from "./scatter";

const frame = { left: 0, top: 0, width: 100, height: 100 };
const run = (id: string, minute: number, seconds: number) => ({
  id,
  status: "completed",
  started_at: `2026-11-17T12:0${minute}:00Z`,
  finished_at: new Date(Date.parse(`2026-11-17T12:0${minute}:00Z`) + seconds * 1000).toISOString(),
});

it("puts earlier runs left and longer ones higher", () => {
  const { points } = scatterOf([run("a", 1, 0.5), run("b", 3, 40)], frame);
  const [a, b] = points;
  expect(a?.x).toBe(0);
  expect(b?.x).toBe(100);
  expect(a?.y).toBeGreaterThan(b?.y ?? 100);
});

const ticks = (shortest: number, longest: number) => scatterOf([run("a", 1, shortest), run("b", 3, longest)], frame).ticks.map(({ value }) => value);

it("has ticks around the durations only", () => {
  expect(ticks(12, 29)).toEqual([10, 30]);
  expect(ticks(0.5, 40)).toEqual([0.3, 1, 3, 10, 30, 60]);
  expect(ticks(0.05, 500)).toEqual([0.1, 1, 10, 60, 600]);
});

it("leaves out what has not ended", () => {
  expect(scatterOf([{ ...run("a", 1, 1), finished_at: null }, run("b", 2, 1)], frame).points).toHaveLength(1);
});
