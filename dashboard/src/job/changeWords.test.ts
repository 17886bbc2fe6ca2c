import { expect, it } from "vitest";
import { changeLook, valueWords } from "./changeWords";

it("says what was done", () => {
  expect(changeLook("paused").word).toBe("Paused");
  expect(changeLook("odd").word).toBe("odd");
});

it("shows values as one would write them", () => {
  expect([null, "every 5m", 4, ["a"], { x: 1 }].map(valueWords)).toEqual(["nothing", "every 5m", "4", '["a"]', '{"x":1}']);
});
