import { expect, test } from "vitest";
import { atLeast, count, share, standsOut } from "./figures";

test("one thing has no plural", () => {
  expect(count(1, "execution")).toBe("1 execution");
  expect(count(1284, "execution")).toBe("1,284 executions");
});

test("a count that ended at its limit says so", () => {
  expect(atLeast(10_000, false)).toBe("more than 10,000");
});

test("100 % is said only when nothing failed", () => {
  expect(share(1)).toBe("100 %");
  expect(share(0.99999)).toBe("99.9 %");
  expect(share(0.992)).toBe("99.2 %");
});

test("an hour stands out when it has twice the average", () => {
  expect(standsOut([{ count: 10 }, { count: 10 }, { count: 70 }])).toEqual({ count: 70 });
  expect(standsOut([{ count: 10 }, { count: 11 }, { count: 12 }])).toBeUndefined();
  expect(standsOut([{ count: 0 }, { count: 1 }, { count: 0 }])).toBeUndefined();
  expect(standsOut([])).toBeUndefined();
});
