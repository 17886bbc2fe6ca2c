import { expect, test } from "vitest";
import { formatDuration } from "./formatDuration";

test.each([
  [0, "0 s"],
  [0.0421, "42 ms"],
  [4.123, "4.1 s"],
  [59.4, "59 s"],
  [0.0004, "0.4 ms"],
  [59.7, "1 min"],
  [300, "5 min"],
  [3600, "1 h"],
  [172_800, "2 d"],
  [185, "3 m 05 s"],
  [7800, "2 h 10 m"],
  [273_600, "3 d 4 h"],
  [-5, "−5.0 s"],
])("%d seconds are %s", (seconds, words) => {
  expect(formatDuration(seconds)).toBe(words);
});
