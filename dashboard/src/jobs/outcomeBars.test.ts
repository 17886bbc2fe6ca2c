import { expect, it } from "vitest";
import { outcomeBars, type RecentRun, stripWords } from "./outcomeBars";

const run = (minute: number, status: string, duration: number | null): RecentRun => ({
  id: `e${minute}`,
  status,
  scheduled_for: `2026-11-17T12:${String(minute).padStart(2, "0")}:00Z`,
  duration,
});
const seconds = (value: number) => `${value} s`;

it("shows the oldest first and no more than thirty", () => {
  const bars = outcomeBars(Array.from({ length: 40 }, (_, minute) => run(39 - minute, "completed", 1)), seconds);
  expect(bars).toHaveLength(30);
  expect(bars[0]?.id).toBe("e10");
  expect(bars.at(-1)?.id).toBe("e39");
});

it("makes the longest run as high as the strip, and no run invisible", () => {
  const [quick, slow] = outcomeBars([run(1, "completed", 0.0001), run(2, "completed", 600)], seconds);
  expect(slow?.height).toBe(1);
  expect(quick?.height).toBeGreaterThan(0.1);
});

it("tells a failure by its pattern, too", () => {
  const [failed] = outcomeBars([run(1, "failed", 3)], seconds);
  expect(failed?.pattern).toBe("notched");
  expect(failed?.words).toBe("Failed, 3 s");
});

it("draws a run without duration at middle height", () => {
  expect(outcomeBars([run(1, "skipped", null)], seconds)[0]?.height).toBe(0.4);
});

it("counts outcomes in words", () => {
  expect(stripWords([run(1, "completed", 1), run(2, "failed", 1), run(3, "completed", 1)])).toBe("2 completed, 1 failed");
});
