import { expect, test } from "vitest";
import { rangeOf, rounded, stepFor, windowOf, zoomed } from "./timeWindow";

const HOUR = 3_600_000;
const now = Date.parse("2026-11-17T12:00:00Z");

test("seven parts are past and three are future", () => {
  const { from, until } = windowOf("1h", now);
  expect((now - from) / (until - from)).toBeCloseTo(0.7);
});

test("an unknown range is the usual one", () => {
  expect(rangeOf("9y")).toBe("6h");
  expect(rangeOf("7d")).toBe("7d");
});

test("a part that was zoomed into is shown whatever the range", () => {
  const from = "2026-11-01T00:00:00Z";
  expect(windowOf("1h", now, from, "2026-11-02T00:00:00Z").from).toBe(Date.parse(from));
});

test.each([[undefined, "2026-11-02T00:00:00Z"], ["nonsense", "x"], ["2026-11-02T00:00:00Z", "2026-11-01T00:00:00Z"]])(
  "from %s until %s is no part",
  (from, until) => {
    expect(windowOf("1h", now, from, until)).toEqual(windowOf("1h", now));
  },
);

test("zooming in stops at a minute", () => {
  const part = zoomed({ from: 0, until: HOUR }, 0.5, 0.5001);
  expect(part.until - part.from).toBeCloseTo(60_000);
});

test("a rounded window holds the whole one and stays the same for a while", () => {
  const one = { from: 1_000_123, until: 1_000_123 + HOUR };
  const whole = rounded(one);
  expect(whole.from).toBeLessThanOrEqual(one.from);
  expect(whole.until).toBeGreaterThanOrEqual(one.until);
  expect(rounded({ from: whole.from + 1, until: whole.until - 1 })).toEqual(whole);
});

test("steps grow with the window, and where minutes are no longer kept", () => {
  expect(stepFor({ from: now - HOUR, until: now }, now)).toBe("1m");
  expect(stepFor({ from: now - 24 * HOUR, until: now }, now)).toBe("5m");
  expect(stepFor({ from: now - 168 * HOUR, until: now }, now)).toBe("1h");
  expect(stepFor({ from: now - 20 * 24 * HOUR, until: now - 19 * 24 * HOUR }, now)).toBe("1h");
});
