import { expect, test } from "vitest";
import { hoursOf, monthDays, startOfDay, yearDays } from "./zoneDays";

const iso = (at: number) => new Date(at).toISOString();

test("a day begins at midnight of its zone", () => {
  expect(iso(startOfDay(2026, 11, 17, "UTC"))).toBe("2026-11-17T00:00:00.000Z");
  expect(iso(startOfDay(2026, 11, 17, "Europe/Paris"))).toBe("2026-11-16T23:00:00.000Z");
  expect(iso(startOfDay(2026, 7, 1, "America/New_York"))).toBe("2026-07-01T04:00:00.000Z");
  expect(iso(startOfDay(2026, 1, 1, "Asia/Kolkata"))).toBe("2025-12-31T18:30:00.000Z");
});

test("days on which the clocks change have 23 and 25 hours", () => {
  const odd = yearDays(2026, "Europe/Paris").filter(({ hours }) => hours !== 24);
  expect(odd.map(({ month, day, hours }) => [month, day, hours])).toEqual([[3, 29, 23], [10, 25, 25]]);
  expect(yearDays(2026, "UTC").every(({ hours }) => hours === 24)).toBe(true);
});

test("the hour that the clocks skip is missing, and the one they repeat is there twice", () => {
  const march = monthDays(2026, 3, "Europe/Paris")[28];
  const october = monthDays(2026, 10, "Europe/Paris")[24];
  expect(march && hoursOf(march, "Europe/Paris").map(({ hour }) => hour)).not.toContain(2);
  expect(october && hoursOf(october, "Europe/Paris").filter(({ hour }) => hour === 2)).toHaveLength(2);
});

test("where clocks jump at midnight the day begins an hour later", () => {
  const day = monthDays(2026, 9, "America/Santiago")[5];
  expect(day?.hours).toBe(23);
  expect(iso(day?.start ?? 0)).toBe("2026-09-06T04:00:00.000Z");
});

test("days follow each other without a gap and begin on the right weekday", () => {
  const days = monthDays(2026, 2, "Australia/Lord_Howe");
  expect(days).toHaveLength(28);
  expect(days[0]?.weekday).toBe(6);
  days.slice(1).forEach((day, place) => expect(day.start).toBe(days[place]?.end));
});

test("half an hour of difference is told", () => {
  expect(yearDays(2026, "Australia/Lord_Howe").filter(({ hours }) => hours !== 24).map(({ hours }) => hours)).toEqual([24.5, 23.5]);
});
