import { expect, test } from "vitest";
import { KIND_CHOICES, KINDS, meaningOf } from "./eventKinds";
import { detailWords, isWanted, mergeRows } from "./liveRows";

const event = { kind: "execution.started", job_id: "j1", task: "mail", queue: "fast" };

test("a live event must match every filter", () => {
  expect(isWanted(event, {})).toBe(true);
  expect(isWanted(event, { kind: "execution.*", task: "mail", queue: "fast", job: "j1" })).toBe(true);
  expect(isWanted(event, { kind: "worker.*" })).toBe(false);
  expect(isWanted(event, { kind: "execution.failed" })).toBe(false);
  expect(isWanted(event, { queue: "slow" })).toBe(false);
});

const row = (kind: string, second: number) => ({ kind, at: `2026-11-17T12:00:0${second}Z` });

test("live rows are put in their place by time, and kept ones are not doubled", () => {
  const kept = [row("execution.failed", 5), row("job.created", 1)];
  const live = [row("execution.started", 3), row("execution.failed", 5)];
  expect(mergeRows(kept, live).map(({ kind }) => kind)).toEqual(["execution.failed", "execution.started", "job.created"]);
});

test("details are told in words", () => {
  expect(detailWords({ attempt: 2, error_type: "ValueError", detail: { reason: "overlap", count: 3 } })).toBe("ValueError · attempt 2 · reason: overlap · count: 3");
  expect(detailWords({ attempt: 1, detail: {} })).toBe("");
  expect(detailWords({ detail: { start_delay: 63.109954, so_far: true, worker_id: "w1" } })).toBe("start delay: 1 m 03 s · so far · worker id: w1");
  const changed = { by: { key: "k1", name: "deploy" }, fields: [{ field: "schedule", old: "a", new: "b" }], version: 2 };
  expect(detailWords({ detail: changed })).toBe("by deploy · changed schedule · version: 2");
  expect(detailWords({ detail: { by: "API key k1 (first)" } })).toBe("by API key k1 (first)");
});

test("every kind has a sentence, and an unknown one its name", () => {
  for (const { words } of Object.values(KINDS)) expect(words).toMatch(/^[A-Z].*\.$/);
  expect(meaningOf("moon.rose").words).toBe("moon.rose");
});

test("the filter offers all of a noun and each kind that is kept", () => {
  const values = KIND_CHOICES.map(({ value }) => value);
  expect(values).toContain("execution.*");
  expect(values).toContain("execution.failed");
  expect(values).not.toContain("execution.started");
});
