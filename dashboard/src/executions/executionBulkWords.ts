import type { ActionWords } from "../bulk/actionWords";

export type ExecutionAction = "retry" | "cancel";

export const EXECUTION_ACTION_WORDS: Record<ExecutionAction, ActionWords> = {
  retry: { verb: "Retry", past: "tried again", effect: "Those that failed run again with all their attempts. The others are left as they are." },
  cancel: {
    verb: "Cancel",
    past: "cancelled",
    effect: "Those that wait will not run, and those that run are stopped. Their jobs go on as scheduled. This cannot be undone.",
    danger: true,
  },
};
