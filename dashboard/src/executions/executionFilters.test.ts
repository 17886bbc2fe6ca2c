import { describe, expect, it } from "vitest";
import { conditionsOf, fieldsFor, filterWords } from "./executionFilters";

const NOW = new Date("2026-03-01T09:00:00Z");

describe("conditionsOf", () => {
  it("turns a distance from now into a time and leaves the rest", () => {
    expect(conditionsOf({ status: "failed", since: "24h", sort: "x" }, NOW)).toEqual({ status: "failed", since: "2026-02-28T09:00:00.000Z" });
  });

  it("keeps a time that a link gave", () => {
    expect(conditionsOf({ since: "2026-01-01T00:00:00Z" }, NOW)).toEqual({ since: "2026-01-01T00:00:00Z" });
  });
});

const names = (filters: object, more = false) => fieldsFor(filters, more).map(({ name }) => name);

it("shows a rarer filter only while it is set or asked for", () => {
  expect(names({})).not.toContain("worker");
  expect(names({ worker: "w1" })).toContain("worker");
  expect(names({}, true)).toContain("longer_than");
});

it("shows a time of a link as text", () => {
  expect(fieldsFor({ since: "2026-01-01T00:00:00Z" }, false).find(({ name }) => name === "since")?.kind).toBe("text");
});

it("says what is meant", () => {
  expect(filterWords({ status: "failed", task: "etl" })).toBe("status failed, task etl");
});
