import { expect, test } from "vitest";
import { inputWords } from "./inputWords";

const INPUT = { execution_id: "e1", attempt: 2, source: "job", version: 1, current_version: 1, task: "work", payload: {}, http: null, is_kept: true, given_by: null, given_at: null } as const;

test("what the job says needs no words", () => {
  expect(inputWords(INPUT)).toBeNull();
});

test("an earlier version is named, and whether it is still known", () => {
  const edited = { ...INPUT, source: "earlier version", current_version: 3 } as const;
  expect(inputWords(edited)).toContain("version 3 now, and this ran with version 1");
  expect(inputWords({ ...edited, is_kept: false })).toContain("no longer kept");
});

test("a payload of a retry has its giver", () => {
  expect(inputWords({ ...INPUT, source: "retry", given_by: { key: "k1", name: "ann", session: true } })).toContain("ann");
});
