import { expect, test } from "vitest";
import { shortageWords, worstShortages } from "./shortageWords";

const at = (text: string) => Date.parse(`2026-11-${text}:00Z`);
const shortage = { from: at("18T02:00"), until: at("18T02:20"), wanted: 38, slots: 24, latest: 240_000 };

test("a shortage is told by its time, what is wanted and what there is", () => {
  expect(shortageWords(shortage, "UTC", at("18T01:00"))).toBe("02:00–02:20: 38 wanted, 24 slots; the last starts 4 m 00 s late");
});

test("one that is days away has its date, and a short one a single time", () => {
  const short = { ...shortage, until: shortage.from + 2000, latest: 2000 };
  expect(shortageWords(short, "UTC", at("15T00:00"))).toBe("18 Nov, 02:00: 38 wanted, 24 slots; the last starts 2.0 s late");
});

const each = (from: number, latest: number) => ({ ...shortage, from, latest });

test("the worst are named, in the order of time, and trifles are not", () => {
  const found = worstShortages([each(1, 5000), each(2, 10), each(3, 9000), each(4, 7000), each(5, 2000)]);
  expect(found.map(({ from }) => from)).toEqual([1, 3, 4]);
});
