import { expect, it } from "vitest";
import { type BuilderMode, FIRST_CHOICES, ordinal, readSchedule, scheduleFor } from "./scheduleBuilder";

const MODES: BuilderMode[] = ["now", "every", "daily", "weekly", "monthly", "cron"];

it("reads back what it wrote, in every mode", () => {
  for (const mode of MODES) {
    const text = scheduleFor(mode, FIRST_CHOICES);
    const read = readSchedule(text);
    expect(read?.mode).toBe(mode);
    expect(scheduleFor(mode, { ...FIRST_CHOICES, ...read?.choices })).toBe(text);
  }
});

it("says weekdays as people do", () => {
  expect(scheduleFor("weekly", { ...FIRST_CHOICES, weekdays: [5, 1, 2, 4, 3] })).toBe("every weekday at 09:00");
  expect(scheduleFor("weekly", { ...FIRST_CHOICES, weekdays: [4, 1] })).toBe("every monday and thursday at 09:00");
  expect(readSchedule("every monday, tuesday and friday at 10:30")).toEqual({
    mode: "weekly",
    choices: { weekdays: [1, 2, 5], time: "10:30" },
  });
});

it("knows the last day of a month", () => {
  expect(readSchedule("on the last day of every month at 18:00")?.choices.monthDay).toBe("last");
});

it("reads a time as one time, and an expression as cron", () => {
  expect(readSchedule("2026-12-01T09:00")?.mode).toBe("once");
  expect(readSchedule("*/5 9-17 * * MON-FRI")?.mode).toBe("cron");
});

it("leaves free words alone", () => {
  expect(readSchedule("every 2 weeks on Monday at 9:00")).toBeNull();
  expect(readSchedule("1st monday of the month at 10:00")).toBeNull();
});

it("writes ordinals", () => {
  expect([1, 2, 3, 4, 11, 12, 13, 21, 31].map(ordinal)).toEqual(["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "31st"]);
});
