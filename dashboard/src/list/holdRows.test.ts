import { expect, test } from "vitest";
import { holdRows } from "./holdRows";

const id = (row: string) => row;

test("a list that shows nothing yet shows everything that comes", () => {
  expect(holdRows([], ["c", "b", "a"], id)).toEqual({ shown: ["c", "b", "a"], fresh: 0 });
});

test("rows that come in at the head are counted, not shown", () => {
  expect(holdRows(["b", "a"], ["d", "c", "b", "a"], id)).toEqual({ shown: ["b", "a"], fresh: 2 });
});

test("rows of the next page are shown", () => {
  expect(holdRows(["d", "c"], ["d", "c", "b", "a"], id)).toEqual({ shown: ["d", "c", "b", "a"], fresh: 0 });
});

test("a row that is gone is not shown any more", () => {
  expect(holdRows(["c", "b", "a"], ["c", "a"], id)).toEqual({ shown: ["c", "a"], fresh: 0 });
});

test("a list with nothing of what was shown is another list", () => {
  expect(holdRows(["b", "a"], ["z", "y"], id)).toEqual({ shown: ["z", "y"], fresh: 0 });
});
