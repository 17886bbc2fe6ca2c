import { expect, test } from "vitest";
import { moved, periodOf, periodText, periodWords } from "./calendarPeriod";

const now = Date.parse("2026-12-31T23:30:00Z");

test("without a wish it is the current month of the zone", () => {
  expect(periodOf(undefined, undefined, now, "UTC")).toEqual({ scale: "month", year: 2026, month: 12 });
  expect(periodOf(undefined, "nonsense", now, "Europe/Paris")).toEqual({ scale: "month", year: 2027, month: 1 });
  expect(periodOf("year", undefined, now, "UTC")).toEqual({ scale: "year", year: 2026, month: 1 });
});

test("what the address says is read back", () => {
  for (const period of [{ scale: "month" as const, year: 2024, month: 2 }, { scale: "year" as const, year: 2025, month: 1 }]) {
    expect(periodOf(period.scale, periodText(period), now, "UTC")).toEqual(period);
  }
});

test("months go on over the turn of the year", () => {
  expect(periodText(moved({ scale: "month", year: 2026, month: 12 }, 1))).toBe("2027-01");
  expect(periodText(moved({ scale: "month", year: 2026, month: 1 }, -1))).toBe("2025-12");
  expect(periodText(moved({ scale: "year", year: 2026, month: 1 }, -1))).toBe("2025");
});

test("periods are told in words", () => {
  expect(periodWords({ scale: "month", year: 2026, month: 11 })).toBe("November 2026");
});
