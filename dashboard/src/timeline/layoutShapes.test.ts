import { expect, test } from "vitest";
import { countWords, ROW_HEIGHT, layoutShapes, shapeAt } from "./layoutShapes";
import type { Run } from "./mergeRuns";

const run = (from: number, until: number, state = "completed"): Run => ({ state, from, until, counts: { [state]: 1 } });
const window = { from: 0, until: 1000 };

test("a bar lies where its time is", () => {
  expect(layoutShapes([[run(500, 700)]], window, 100)).toMatchObject([{ row: 0, x: 50, width: 20 }]);
});

test("bars are cut off at the edges, and what is outside is not drawn", () => {
  expect(layoutShapes([[run(-500, 100), run(2000, 3000)]], window, 100)).toMatchObject([{ x: 0, width: 10 }]);
});

test("the shortest run can still be seen and hit, at the right edge too", () => {
  const [shape] = layoutShapes([[run(1000, 1000, "failed")]], window, 100);
  expect(shape).toMatchObject({ x: 95, width: 5 });
});

test("each row has its own bars, and a hit finds the bar on top", () => {
  const shapes = layoutShapes([[run(0, 900), run(400, 410, "failed")], [run(0, 100)]], window, 100);
  expect(shapeAt(shapes, 40, 10)?.bar.state).toBe("failed");
  expect(shapeAt(shapes, 20, 10)?.bar.state).toBe("completed");
  expect(shapeAt(shapes, 5, ROW_HEIGHT + 10)?.row).toBe(1);
  expect(shapeAt(shapes, 60, ROW_HEIGHT + 10)).toBeUndefined();
});

test("counts are told in words", () => {
  expect(countWords({ failed: 3, completed: 1200 })).toBe("3 failed, 1,200 completed");
});
