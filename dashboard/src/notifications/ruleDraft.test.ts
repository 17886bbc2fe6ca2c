import { describe, expect, it } from "vitest";
import { DraftError } from "../jobForm/jobDraft";
import { NEW_RULE, ruleDraftOf, ruleNews, ruleRequestOf, scopeWords } from "./ruleDraft";

describe("ruleRequestOf", () => {
  it("leaves out what the scope cannot tell of", () => {
    const on = ["failed", "queue_stuck", "dead_letters"];
    expect(ruleRequestOf({ ...NEW_RULE, scope: "tag", tag: "billing", on, to: ["ops"] })).toEqual({ on: ["failed"], to: ["ops"], tag: "billing" });
    expect(ruleRequestOf({ ...NEW_RULE, scope: "queue", queue: "mail", on, to: ["ops"] })).toEqual({
      on: ["failed", "queue_stuck"], to: ["ops"], queue: "mail", stuck_after: "10m",
    });
    expect(ruleRequestOf({ ...NEW_RULE, on, to: ["ops"] })).toEqual({ on, to: ["ops"], dead_letters_above: 100, stuck_after: "10m" });
  });

  it("names the field that is needed", () => {
    expect(() => ruleRequestOf({ ...NEW_RULE, scope: "tag" })).toThrow(new DraftError("tag", "is needed"));
    expect(() => ruleRequestOf({ ...NEW_RULE, on: ["dead_letters"], deadLettersAbove: "x" })).toThrow(DraftError);
  });
});

it("a rule that exists becomes the same request again", () => {
  const rule = {
    name: "mail", on: ["late" as const, "queue_stuck" as const], to: ["ops"], tag: null, queue: "mail", dead_letters_above: null, stuck_after: 900,
    created_at: "2026-11-18T00:00:00Z", changed_at: "2026-11-18T00:00:00Z",
  };
  expect(ruleRequestOf(ruleDraftOf(rule))).toEqual({ on: ["late", "queue_stuck"], to: ["ops"], queue: "mail", stuck_after: "15m" });
  expect(scopeWords(rule)).toBe("queue mail");
  expect(ruleNews(rule)).toBe("late, queue stuck (15m)");
});
