import { expect, test } from "vitest";
import { nextSort, sortDirection } from "./columns";

test("a header sorts up, then down, then as at first", () => {
  expect(nextSort(undefined, "name")).toBe("name");
  expect(nextSort("name", "name")).toBe("-name");
  expect(nextSort("-name", "name")).toBeUndefined();
  expect(nextSort("-created_at", "name")).toBe("name");
});

test("screen readers are told the direction", () => {
  expect(sortDirection("-name", "name")).toBe("descending");
  expect(sortDirection("name", "name")).toBe("ascending");
  expect(sortDirection("name", "other")).toBe("none");
});
