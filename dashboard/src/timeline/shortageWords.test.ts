import { expect, test } from "vitest";
import { shortageWords, worstShortages } from "./shortageWords";

const at = (text: string) => Date.parse(`2026-11-${text}:00Z`);
const shortage = { from: "2026-11-18T02:00:00Z", until: "2026-11-18T02:20:00Z", wanted: 38, slots: 24, delay: 240 };

test("a shortage is told by its time, what is wanted and what there is", () => {
  expect(shortageWords(shortage, "UTC", at("18T01:00"))).toBe("02:00–02:20: 38 wanted, 24 slots; the last starts 4 min late");
});

test("one that is days away has its date, and a short one a single time", () => {
  const short = { ...shortage, until: "2026-11-18T02:00:02Z", delay: 2 };
  expect(shortageWords(short, "UTC", at("15T00:00"))).toBe("18 Nov, 02:00: 38 wanted, 24 slots; the last starts 2.0 s late");
});

const each = (day: number, delay: number) => ({ ...shortage, from: `2026-11-1${day}T00:00:00Z`, delay });

test("the worst are named, in the order of time, and trifles are not", () => {
  const found = worstShortages([each(1, 5), each(2, 0.01), each(3, 9), each(4, 7), each(5, 2)]);
  expect(found.map(({ delay }) => delay)).toEqual([5, 9, 7]);
});
