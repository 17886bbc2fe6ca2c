import { expect, it } from "vitest";
import { dueTimeText } from "./dueTimeText";

const NOW = new Date("2026-11-17T12:00:00Z");

it("leaves out what says nothing", () => {
  expect(dueTimeText(new Date("2026-11-23T01:30:00Z"), "Europe/Paris", NOW)).toBe("Mon 23 Nov, 02:30 CET");
  expect(dueTimeText(new Date("2026-11-23T01:30:05Z"), "UTC", NOW)).toBe("Mon 23 Nov, 01:30:05 UTC");
});

it("says the year of another one", () => {
  expect(dueTimeText(new Date("2027-01-01T00:00:00Z"), "UTC", NOW)).toBe("Fri 1 Jan 2027, 00:00 UTC");
});
