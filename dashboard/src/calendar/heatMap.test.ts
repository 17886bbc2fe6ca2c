import { expect, test } from "vitest";
import { type Cell, cellWords, fillCells, hotSpots, levelOf } from "./heatMap";

const HOUR = 3_600_000;
const start = Date.parse("2026-11-17T00:00:00Z");
const parts = [0, 1, 2].map((hour) => ({ from: start + hour * HOUR, until: start + (hour + 1) * HOUR }));
const iso = (hour: number) => new Date(start + hour * HOUR).toISOString();
const cell = (change: Partial<Cell>): Cell => ({ from: 0, until: 1, ran: 0, failed: 0, missed: 0, due: 0, ...change });

test("points are summed in the part in which they lie", () => {
  const past = [
    { at: iso(0), completed: 3, failed: 1, missed: 0 },
    { at: iso(0.5), completed: 1, failed: 0, missed: 2 },
  ];
  const cells = fillCells(parts, past, [{ at: iso(2), count: 7 }]);
  expect(cells[0]).toMatchObject({ ran: 5, failed: 1, missed: 2, due: 0 });
  expect(cells[2]).toMatchObject({ ran: 0, due: 7 });
});

test("what lies outside of all parts is left out", () => {
  const cells = fillCells(parts, [{ at: iso(-1), completed: 9, failed: 0, missed: 0 }], [{ at: iso(3), count: 9 }]);
  expect(cells.every(({ ran, due }) => ran + due === 0)).toBe(true);
});

test("the current hour has both what ran and what is due", () => {
  const [now] = fillCells(parts, [{ at: iso(0), completed: 2, failed: 0, missed: 0 }], [{ at: iso(0.5), count: 4 }]);
  expect(now && cellWords(now)).toBe("2 ran; 4 due");
});

test("levels show one beside ten thousand, and half as much as lighter", () => {
  expect([0, 1, 900, 2500, 5000, 10_000].map((count) => levelOf(count, 10_000))).toEqual([0, 1, 2, 3, 4, 5]);
  expect(levelOf(1, 1)).toBe(5);
});

test("a part with far more due than usual is a hot spot", () => {
  const cells = [cell({ due: 10 }), cell({ due: 11 }), cell({ due: 10 }), cell({ due: 60, from: 9 })];
  expect(hotSpots(cells)).toMatchObject([{ kind: "due", cell: { from: 9 } }]);
  expect(hotSpots(cells.slice(0, 3))).toEqual([]);
});

test("parts with most failures are named after those that are crowded", () => {
  const found = hotSpots([cell({ failed: 1 }), cell({ failed: 8, from: 5 })], 1);
  expect(found).toMatchObject([{ kind: "failed", cell: { from: 5 } }]);
});

test("nothing is said to be nothing", () => {
  expect(cellWords(cell({}))).toBe("nothing");
  expect(cellWords(cell({ ran: 1200, failed: 3, missed: 1 }))).toBe("1,200 ran, 3 failed, 1 missed");
});
