import { describe, expect, it } from "vitest";
import { loadWords, processWords } from "./loadWords";

const NOTHING = {
  cpu: null, memory_used: null, memory_total: null, disk_used: null, disk_total: null, process_cpu: null, process_memory: null,
};

describe("loadWords", () => {
  it("says how much of the machine is in use", () => {
    expect(loadWords({ ...NOTHING, cpu: 0.4, memory_used: 1, memory_total: 2, disk_used: 91, disk_total: 100 })).toBe("CPU 40%, memory 50%, disk 91%");
  });

  it("leaves out what a worker does not measure", () => {
    expect(loadWords({ ...NOTHING, disk_used: 5, disk_total: 10 })).toBe("disk 50%");
    expect(loadWords(null)).toBe("–");
  });
});

it("says what the worker itself uses", () => {
  expect(processWords({ ...NOTHING, process_cpu: 0.4, process_memory: 120 * 1024 * 1024 })).toBe("0.4 CPUs, 120 MiB");
  expect(processWords(undefined)).toBe("–");
});
