import { describe, expect, it } from "vitest";
import { addLines, asText, filterLines, type LogLine, weight } from "./logLines";

const line = (number: number, text: string, level = "info", attempt = 1): LogLine => ({ at: "2026-03-01T09:00:00Z", attempt, level, line: number, text });

describe("filterLines", () => {
  const lines = [line(1, "Loading orders"), line(2, "slow answer", "warning"), line(3, "broken", "error"), line(1, "Loading orders", "stdout", 2)];

  it("finds words in any case", () => {
    expect(filterLines(lines, { text: "ORDERS", level: null, attempt: null })).toHaveLength(2);
  });

  it("keeps the level and everything more important", () => {
    expect(filterLines(lines, { text: "", level: "warning", attempt: null }).map((each) => each.text)).toEqual(["slow answer", "broken"]);
  });

  it("keeps one attempt", () => {
    expect(filterLines(lines, { text: "", level: null, attempt: 2 })).toEqual([lines[3]]);
  });
});

describe("addLines", () => {
  it("adds what a broken stream repeats only once", () => {
    const known = [line(1, "a"), line(2, "b")];
    expect(addLines(known, [line(2, "b"), line(3, "c"), line(1, "d", "info", 2)]).map((each) => each.text)).toEqual(["a", "b", "c", "d"]);
    expect(addLines(known, [line(2, "b")])).toBe(known);
  });
});

it("writes one line of text for each line", () => {
  expect(asText([line(1, "ready", "warning")])).toBe("2026-03-01T09:00:00Z WARNING [1] ready\n");
  expect(asText([])).toBe("");
});

it("draws what matters differently", () => {
  expect(["debug", "stdout", "warning", "critical"].map(weight)).toEqual(["quiet", "plain", "warning", "error"]);
});
