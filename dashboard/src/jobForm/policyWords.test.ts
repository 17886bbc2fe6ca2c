import { expect, it } from "vitest";
import { retryWords, secondsIn } from "./policyWords";

it("says how long the waits are", () => {
  expect(retryWords(4, "exponential", "1s", "1h")).toBe("One try and 3 retries, after 1 s, 2 s, 4 s.");
  expect(retryWords(2, "fixed", "5m", "1h")).toBe("One try and 1 retry, after 5 min.");
  expect(retryWords(4, "linear", "10s", "20s")).toBe("One try and 3 retries, after 10 s, 20 s, 20 s.");
  expect(retryWords(9, "fixed", "1s", "1h")).toBe("One try and 8 retries, after 1 s, 1 s, 1 s, 1 s ….");
});

it("says nothing about waits that it cannot read", () => {
  expect(retryWords(3, "fixed", "PT5S", "1h")).toBe("One try and 2 retries.");
  expect(retryWords(1, "fixed", "1s", "1h")).toBe("One try, no retries.");
});

it("reads durations", () => {
  expect([secondsIn("1h30m"), secondsIn("90"), secondsIn("2.5s"), secondsIn("soon")]).toEqual([5400, 90, 2.5, null]);
});
