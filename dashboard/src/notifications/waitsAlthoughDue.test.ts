import { expect, test } from "vitest";
import { waitsAlthoughDue } from "./waitsAlthoughDue";

test("what is due for a while and still waits says so", () => {
  const now = new Date("2026-11-18T12:00:00Z");
  expect(waitsAlthoughDue("2026-11-18T12:01:00Z", now)).toBe(false);
  expect(waitsAlthoughDue("2026-11-18T11:59:55Z", now)).toBe(false);
  expect(waitsAlthoughDue("2026-11-18T11:59:00Z", now)).toBe(true);
});
