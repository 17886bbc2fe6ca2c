import { expect, test } from "vitest";
import { absoluteTime, relativeTime, shortTime } from "./formatTime";

const now = new Date("2026-11-17T12:00:00Z");
const after = (seconds: number) => new Date(now.getTime() + seconds * 1000);

test("near times are told by their distance", () => {
  expect(relativeTime(now, now, "UTC")).toBe("now");
  expect(relativeTime(after(-9), now, "UTC", 10)).toBe("now");
  expect(relativeTime(after(-10), now, "UTC", 10)).toBe("10 s ago");
  expect(relativeTime(after(9), now, "UTC", 10)).toBe("in 9 s");
  expect(relativeTime(after(59), now, "UTC")).toBe("in 59 s");
  expect(relativeTime(after(-4 * 60 - 30), now, "UTC")).toBe("4 min ago");
  expect(relativeTime(after(-3 * 3600), now, "UTC")).toBe("3 h ago");
  expect(relativeTime(after(2 * 86400), now, "UTC")).toBe("in 2 d");
});

test("far times are told by their date", () => {
  expect(relativeTime(after(30 * 86400), now, "UTC")).toBe("17 Dec, 12:00");
  expect(shortTime(new Date("2025-01-02T03:04:00Z"), "UTC", now)).toBe("2 Jan 2025, 03:04");
});

test("a full time has its zone", () => {
  expect(absoluteTime(now, "Europe/Paris")).toMatch(/^Tue 17 Nov 2026, 13:00:00 (CET|GMT\+1)$/);
  expect(absoluteTime(now, "UTC")).toBe("Tue 17 Nov 2026, 12:00:00 UTC");
});
