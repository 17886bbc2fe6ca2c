import { expect, test } from "vitest";
import { parseSearch, stringifySearch, textParams } from "./searchParams";

test("text that looks like a number stays text", () => {
  expect(parseSearch("?q=123&tag=true")).toEqual({ q: "123", tag: "true" });
});

test("what is not set is not in the address", () => {
  expect(stringifySearch({ q: "a b", status: undefined, tag: "" })).toBe("?q=a+b");
  expect(stringifySearch({})).toBe("");
});

test("any text survives the address", () => {
  const values = { q: 'a&b=c#d "é" +%' };
  expect(parseSearch(stringifySearch(values))).toEqual(values);
});

test("unknown names are dropped", () => {
  expect(textParams("q", "status")({ q: "x", other: "y", status: 5 })).toEqual({ q: "x" });
});
