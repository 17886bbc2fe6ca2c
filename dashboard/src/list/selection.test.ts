import { expect, test } from "vitest";
import { extended, isEmpty, isSelected, NOTHING, toggled } from "./selection";

const loaded = ["a", "b", "c", "d"];

test("all that match include rows that are not loaded", () => {
  expect(isSelected({ all: true, ids: new Set() }, "z")).toBe(true);
});

test("taking one row out of all leaves the other loaded ones", () => {
  const left = toggled({ all: true, ids: new Set() }, "b", loaded);
  expect(left.all).toBe(false);
  expect([...left.ids]).toEqual(["a", "c", "d"]);
});

test("toggling twice selects nothing", () => {
  expect(isEmpty(toggled(toggled(NOTHING, "a", loaded), "a", loaded))).toBe(true);
});

test("a range is selected in either direction", () => {
  expect([...extended(NOTHING, 2, 0, loaded).ids]).toEqual(["a", "b", "c"]);
});
