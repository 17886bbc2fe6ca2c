import { expect, it } from "vitest";
import { usageWords } from "./usageWords";

it("says what a process has used, and nothing of an attempt without one", () => {
  expect(usageWords({ usage: { cpu_seconds: 90, peak_memory: 45 * 1024 ** 2 } })).toContain("of CPU time, 45 MiB of memory at most");
  expect([usageWords({ usage: null }), usageWords(undefined)]).toEqual([null, null]);
});
