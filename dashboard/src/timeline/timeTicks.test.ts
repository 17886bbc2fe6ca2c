import { expect, test } from "vitest";
import { timeTicks } from "./timeTicks";

const HOUR = 3_600_000;
const noon = Date.parse("2026-11-17T12:00:00Z");

test("ticks are round times of the zone", () => {
  expect(timeTicks(noon + 1, noon + 6 * HOUR, "Europe/Paris", 8).map(({ word }) => word)).toEqual(["14:00", "15:00", "16:00", "17:00", "18:00"]);
  expect(timeTicks(noon, noon + 2 * HOUR, "Asia/Kolkata", 4).map(({ word }) => word)).toEqual(["17:30", "18:00", "18:30", "19:00"]);
});

test("midnight is told by its date", () => {
  const ticks = timeTicks(noon, noon + 24 * HOUR, "UTC", 5);
  expect(ticks.find(({ isDay }) => isDay)?.word).toBe("18 Nov");
});

test("there are never more than fit", () => {
  for (const hours of [1, 6, 10, 24, 34, 240]) {
    expect(timeTicks(noon, noon + hours * HOUR, "UTC", 6).length).toBeLessThanOrEqual(7);
  }
});
