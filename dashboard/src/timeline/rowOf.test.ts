import { expect, test } from "vitest";
import type { Schemas } from "../api/client";
import { rowOf } from "./rowOf";

const now = Date.parse("2026-11-17T12:00:00Z");
const row: Schemas["TimelineRow"] = {
  id: "j1", name: null, key: "nightly", task: "etl", failing: true, run_time: 1.5, next_at: null, complete_since: null, complete_until: null, bars: [],
};
const bar = (fields: Partial<Schemas["TimelineBar"]>) => ({
  state: "completed" as const, from: "2026-11-17T11:00:00Z", until: "2026-11-17T11:01:00Z", counts: { completed: 1 }, execution_id: null, ...fields,
});

test("a job without a name is called by its key", () => {
  expect(rowOf(row, now)).toMatchObject({ title: "nightly", typical: 1500, next: undefined });
});

test("what runs lasts until now", () => {
  const [run] = rowOf({ ...row, bars: [bar({ state: "running", until: null })] }, now).runs;
  expect(run?.until).toBe(now);
});

test("one execution leads to itself, several do not", () => {
  const { runs } = rowOf({ ...row, bars: [bar({ execution_id: "e1" }), bar({ counts: { completed: 7 } })] }, now);
  expect(runs.map(({ id }) => id)).toEqual(["e1", undefined]);
});

test("what waits from a time to come does not end before it begins", () => {
  const from = "2026-11-17T12:00:05Z";
  expect(rowOf({ ...row, bars: [bar({ state: "pending", from, until: null })] }, now).runs[0]?.until).toBe(Date.parse(from));
});
