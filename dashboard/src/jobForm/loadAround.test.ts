import { expect, it } from "vitest";
import { describeLoad, minutesOf } from "./loadAround";

const FROM = new Date("2026-11-18T08:30:00Z");

it("fills the minutes in which nothing is due", () => {
  const minutes = minutesOf([{ at: "2026-11-18T08:32:00Z", count: 7 }], FROM, 4);
  expect(minutes.map(({ count }) => count)).toEqual([0, 0, 7, 0]);
});

it("names the nearest quieter minute", () => {
  const minutes = minutesOf([{ at: "2026-11-18T08:32:00Z", count: 7 }, { at: "2026-11-18T08:33:00Z", count: 2 }], FROM, 10);
  const words = describeLoad(minutes, "2026-11-18T08:32:00Z");
  expect(words).toMatchObject({ here: 7, most: 7 });
  expect(words.quietest?.at).toBe("2026-11-18T08:31:00.000Z");
});

it("names none where the chosen one is as quiet as any", () => {
  expect(describeLoad(minutesOf([], FROM, 5), "2026-11-18T08:31:00Z").quietest).toBeNull();
});
