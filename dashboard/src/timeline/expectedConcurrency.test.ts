import { expect, test } from "vitest";
import { expectedConcurrency, peaks, shortages } from "./expectedConcurrency";

const at = (time: number, length: number) => ({ at: time, length });
const herd = (start: number) => Array.from({ length: 4 }, () => at(start, 10));

test("what overlaps is counted together", () => {
  expect(expectedConcurrency([at(0, 10), at(5, 10), at(20, 5)])).toEqual([
    { at: 0, wanted: 1 },
    { at: 5, wanted: 2 },
    { at: 10, wanted: 1 },
    { at: 15, wanted: 0 },
    { at: 20, wanted: 1 },
    { at: 25, wanted: 0 },
  ]);
});

test("one that ends when the next begins does not overlap it", () => {
  expect(Math.max(...expectedConcurrency([at(0, 10), at(10, 10)]).map(({ wanted }) => wanted))).toBe(1);
});

test("each part of a range has its peak, even one that is short", () => {
  const levels = expectedConcurrency([at(0, 40), at(12, 1), at(12, 1)]);
  expect(peaks(levels, 0, 50, 5)).toEqual([1, 3, 1, 1, 0]);
});

test("with enough slots nobody waits", () => {
  expect(shortages([at(0, 10), at(0, 10)], 2)).toEqual([]);
});

test("more than the slots at once is a shortage, until the last of them starts", () => {
  const five = Array.from({ length: 5 }, () => at(100, 10));
  expect(shortages(five, 2)).toEqual([{ from: 100, until: 120, wanted: 5, slots: 2, latest: 20 }]);
});

test("two herds with time between them are two shortages", () => {
  expect(shortages([...herd(0), ...herd(1000)], 2).map(({ from }) => from)).toEqual([0, 1000]);
});

test("a herd that meets what still waits is one shortage", () => {
  expect(shortages([...herd(0), ...herd(5)], 1)).toHaveLength(1);
});

test("without a worker there is no capacity to compare with", () => {
  expect(shortages([at(0, 10)], 0)).toEqual([]);
});

test("two thousand due times on many slots are played through", () => {
  const many = Array.from({ length: 2000 }, (_, place) => at(place, 500));
  const [shortage] = shortages(many, 100);
  expect(shortage?.wanted).toBe(500);
  expect(shortage?.until).toBe(Math.floor(1999 / 100) * 500 + 99);
});
