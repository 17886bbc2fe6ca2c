import { describe, expect, it } from "vitest";
import { isFiltered, workerQuery } from "./workerFilters";

describe("workerQuery", () => {
  it("sends several labels as several parameters", () => {
    expect(workerQuery({ label: "region=eu, gpu", status: "online" })).toEqual({ label: ["region=eu", "gpu"], status: "online" });
  });

  it("leaves out what is not a filter of the API", () => {
    expect(workerQuery({ worker: "w1", q: "" })).toEqual({});
  });
});

it("an order alone is no filter", () => {
  expect(isFiltered({ sort: "name" })).toBe(false);
  expect(isFiltered({ sort: "name", host: "box-1" })).toBe(true);
});
