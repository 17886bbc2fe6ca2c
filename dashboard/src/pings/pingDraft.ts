import type { Schemas } from "../api/client";
import { type JobDraft, NEW_DRAFT, scheduleDraft, scheduleFields, seconds } from "../jobForm/jobDraft";

/** A ping as the form holds it: everything as text, so that half-typed values have a place. */
export interface PingDraft {
  name: string;
  /** Only its schedule is used: the preview reads it there. */
  when: JobDraft;
  grace: string;
  description: string;
  kinds: string[];
  channels: string[];
}

export const PING_KINDS = ["late", "missing", "failed", "recovered", "slow"] as const;

export const NEW_PING: PingDraft = {
  name: "",
  when: { ...NEW_DRAFT, schedule: "every day at 02:00" },
  grace: "30m",
  description: "",
  kinds: ["missing", "failed", "recovered"],
  channels: [],
};

/** The body of PUT /v1/pings/{name}. `kept`: what the form cannot show, and leaves as it is. */
export function pingRequestOf(draft: PingDraft, kept: readonly Schemas["PingNotify"][] = []): Record<string, unknown> {
  const notify = draft.channels.length > 0 && draft.kinds.length > 0 ? [{ on: draft.kinds, to: draft.channels }] : [];
  return {
    ...scheduleFields(draft.when),
    grace: draft.grace.trim(),
    ...(draft.description.trim() ? { description: draft.description.trim() } : {}),
    ...(notify.length + kept.length > 0 ? { notify: [...notify, ...kept] } : {}),
  };
}

/** The draft of a ping that exists. The form shows the first of its notifications. */
export function pingDraftOf(ping: Schemas["PingView"]): PingDraft {
  const [first] = ping.notify;
  return {
    name: ping.name,
    when: { ...NEW_DRAFT, ...scheduleDraft(ping.schedule as Record<string, unknown>) },
    grace: seconds(ping.grace),
    description: ping.description ?? "",
    kinds: first ? [...first.on] : NEW_PING.kinds,
    channels: first ? [...(first.to ?? [])] : [],
  };
}
