import type { Schemas } from "../api/client";
import { DraftError, seconds } from "../jobForm/jobDraft";
import { JOB_NEWS, newsBesidesJobs, newsWord, type Scope } from "./newsWords";

/** A notification rule as the form holds it. */
export interface RuleDraft {
  name: string;
  scope: Scope;
  tag: string;
  queue: string;
  on: string[];
  to: string[];
  deadLettersAbove: string;
  stuckAfter: string;
}

export const NEW_RULE: RuleDraft = {
  name: "", scope: "all", tag: "", queue: "", on: ["failed", "recovered"], to: [], deadLettersAbove: "100", stuckAfter: "10m",
};

/** The body of PUT /v1/notification-rules/{name}. What its scope does not have is left out. Throws DraftError. */
export function ruleRequestOf(draft: RuleDraft): Record<string, unknown> {
  const on = draft.on.filter((word) => fits(word, draft.scope));
  if (draft.scope === "tag" && !draft.tag.trim()) throw new DraftError("tag", "is needed");
  if (draft.scope === "queue" && !draft.queue.trim()) throw new DraftError("queue", "is needed");
  return {
    on,
    to: draft.to,
    ...(draft.scope === "tag" ? { tag: draft.tag.trim() } : {}),
    ...(draft.scope === "queue" ? { queue: draft.queue.trim() } : {}),
    ...(on.includes("dead_letters") ? { dead_letters_above: wholeNumber(draft.deadLettersAbove) } : {}),
    ...(on.includes("queue_stuck") ? { stuck_after: draft.stuckAfter.trim() } : {}),
  };
}

function fits(word: string, scope: Scope): boolean {
  return [...JOB_NEWS, ...newsBesidesJobs(scope)].some((each) => each.word === word);
}

function wholeNumber(text: string): number {
  const value = Number(text.trim());
  if (!text.trim() || !Number.isInteger(value)) throw new DraftError("dead_letters_above", `“${text}” is not a whole number`);
  return value;
}

export function ruleDraftOf(rule: Schemas["NotificationRuleView"]): RuleDraft {
  return {
    name: rule.name,
    scope: rule.tag !== null ? "tag" : rule.queue !== null ? "queue" : "all",
    tag: rule.tag ?? "",
    queue: rule.queue ?? "",
    on: [...rule.on],
    to: [...rule.to],
    deadLettersAbove: rule.dead_letters_above === null ? NEW_RULE.deadLettersAbove : String(rule.dead_letters_above),
    stuckAfter: rule.stuck_after === null ? NEW_RULE.stuckAfter : seconds(rule.stuck_after),
  };
}

/** "everything", "jobs tagged billing", "queue mail" */
export function scopeWords({ tag, queue }: { tag: string | null; queue: string | null }): string {
  if (tag !== null) return `jobs tagged ${tag}`;
  return queue === null ? "everything" : `queue ${queue}`;
}

/** "failed, dead letters (above 25), queue stuck (30m)" */
export function ruleNews({ on, dead_letters_above, stuck_after }: Schemas["NotificationRuleView"]): string {
  return on
    .map((word) => {
      if (word === "dead_letters" && dead_letters_above !== null) return `dead letters (above ${dead_letters_above.toLocaleString("en")})`;
      return word === "queue_stuck" && stuck_after !== null ? `queue stuck (${seconds(stuck_after)})` : newsWord(word);
    })
    .join(", ");
}
