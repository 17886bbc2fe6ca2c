import { expect, test } from "vitest";
import { isHeld } from "./held";

test("what is due for a while and still waits is held", () => {
  const now = new Date("2026-11-18T12:00:00Z");
  expect(isHeld("2026-11-18T12:01:00Z", now)).toBe(false);
  expect(isHeld("2026-11-18T11:59:55Z", now)).toBe(false);
  expect(isHeld("2026-11-18T11:59:00Z", now)).toBe(true);
});
