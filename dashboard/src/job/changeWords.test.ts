import { expect, it } from "vitest";
import { changeWords, detailWords } from "./changeWords";

it("says what was done", () => {
  expect(changeWords("job.paused")).toBe("Paused");
  expect(changeWords("job.odd")).toBe("job.odd");
});

it("says the detail in a line", () => {
  expect(detailWords({ fields: ["schedule", "owner"], key: "deploy", note: null, more: { a: 1 } })).toBe(
    'fields schedule, owner · key deploy · more {"a":1}',
  );
});
