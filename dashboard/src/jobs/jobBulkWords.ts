import type { ActionWords } from "../bulk/actionWords";

export type JobAction = "run" | "pause" | "resume" | "cancel" | "delete" | "tag" | "untag";

export const JOB_ACTION_WORDS: Record<JobAction, ActionWords> = {
  run: { verb: "Run", past: "started", effect: "Each of them runs once now, beside its schedule." },
  pause: { verb: "Pause", past: "paused", effect: "Nothing of them starts until they are resumed. What runs goes on." },
  resume: { verb: "Resume", past: "resumed", effect: "Their schedules go on. Due times that passed follow the catch-up policy of each job." },
  cancel: { verb: "Cancel", past: "cancelled", effect: "They have no further executions. This cannot be undone.", danger: true, canStopRunning: true },
  delete: {
    verb: "Delete",
    past: "deleted",
    effect:
      "To delete a job is to cancel it: it has no further executions, its key is free for another job, and it is found only among those with the status cancelled. What ran stays in the history. This cannot be undone.",
    danger: true,
  },
  tag: { verb: "Add tags", past: "tagged", effect: "Each of them gets these tags.", needsTags: true },
  untag: { verb: "Take tags away", past: "changed", effect: "These tags are taken from each of them.", needsTags: true },
};
