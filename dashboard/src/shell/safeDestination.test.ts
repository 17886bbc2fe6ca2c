import { expect, test } from "vitest";
import { safeDestination } from "./safeDestination";

test.each(["/jobs?status=paused", "/"])("%s is in the dashboard", (next) => {
  expect(safeDestination(next)).toBe(next);
});

test.each([undefined, "", "//evil.example", "/\\evil.example", "https://evil.example", "javascript:alert(1)", "/sign-in"])(
  "%s leads to the overview",
  (next) => {
    expect(safeDestination(next)).toBe("/");
  },
);
