import { expect, it } from "vitest";
import { ProblemError } from "../api/problem";
import { errorAt, fieldErrorsOf } from "./fieldErrors";
import { DraftError } from "./jobDraft";

const problem = new ProblemError(422, {
  type: "about:blank", title: "Invalid", status: 422, detail: "", request_id: "r1",
  errors: [
    { path: "schedule", message: "once, or every time?", hint: 'say "every day at 9am"' },
    { path: "payload.to", message: "is required", hint: null },
  ],
} as never);

it("gives each field its error with the hint", () => {
  const errors = fieldErrorsOf(problem);
  expect(errorAt(errors, "schedule")).toBe('once, or every time?. say "every day at 9am"');
  expect(errorAt(errors, "payload")).toBe("to is required");
  expect(errorAt(errors, "name")).toBeUndefined();
});

it("knows what could not even be sent", () => {
  expect(errorAt(fieldErrorsOf(new DraftError("payload", "is not JSON")), "payload")).toBe("is not JSON");
});
