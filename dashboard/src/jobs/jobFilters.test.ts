import { describe, expect, it } from "vitest";
import { conditionsOf, filterWords, isFiltered, tagsIn } from "./jobFilters";

const NOW = new Date("2026-11-17T12:00:00Z");

describe("conditionsOf", () => {
  it("makes a range of time of the next run", () => {
    expect(conditionsOf({ next: "1h" }, NOW)).toEqual({
      due_after: "2026-11-17T12:00:00.000Z",
      due_before: "2026-11-17T13:00:00.000Z",
    });
  });

  it("leaves out the order, and splits tags", () => {
    expect(conditionsOf({ status: "paused", tag: "a, b", sort: "health" }, NOW)).toEqual({ status: "paused", tag: ["a", "b"] });
  });

  it("drops a range that it does not know", () => {
    expect(conditionsOf({ next: "soon" }, NOW)).toEqual({});
  });
});

it("splits tags at commas", () => {
  expect(tagsIn(" eu ,, billing")).toEqual(["eu", "billing"]);
});

it("says a filter in words", () => {
  expect(filterWords({ status: "paused", next: "1h", sort: "health" })).toBe("status paused, next run within 1 hour");
});

it("does not call an order a filter", () => {
  expect(isFiltered({ sort: "health" })).toBe(false);
  expect(isFiltered({ q: "etl" })).toBe(true);
});
