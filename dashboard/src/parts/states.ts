/** How states look. A state is told by its shape and its word; colour comes last. */
export type Shape =
  | "check" | "spinner" | "retry" | "cross" | "octagon" | "lines" | "clock" | "hourglass" | "minus" | "forward" | "pause"
  | "play" | "plug" | "question" | "bolt" | "drain";

/** How a bar of this state is filled in charts and strips. */
export type Pattern = "solid" | "hollow" | "dashed" | "dotted" | "hatched" | "notched";

export interface StateLook {
  word: string;
  shape: Shape;
  pattern: Pattern;
  /** A CSS colour. */
  color: string;
}

const look = (word: string, shape: Shape, pattern: Pattern, color: string): StateLook => ({
  word,
  shape,
  pattern,
  color: `var(--state-${color})`,
});

export const EXECUTION_LOOKS = {
  pending: look("Pending", "lines", "hollow", "waiting"),
  running: look("Running", "spinner", "solid", "running"),
  completed: look("Completed", "check", "solid", "completed"),
  failed: look("Failed", "cross", "notched", "failed"),
  cancelled: look("Cancelled", "minus", "hatched", "neutral"),
  skipped: look("Skipped", "forward", "hatched", "neutral"),
  dead: look("Dead letter", "octagon", "solid", "dead"),
} satisfies Record<string, StateLook>;

export type ExecutionStatus = Exclude<keyof typeof EXECUTION_LOOKS, "dead">;

/** What a pending execution waits for: each has a look of its own. */
export const WAITING_LOOKS = {
  due: look("Pending", "clock", "dashed", "neutral"),
  worker: look("Pending", "lines", "hollow", "waiting"),
  limit: look("Pending", "lines", "hollow", "waiting"),
  dependency: look("Pending", "hourglass", "dotted", "neutral"),
  retry: look("Pending", "retry", "dotted", "retrying"),
  paused: look("Pending", "pause", "dotted", "neutral"),
} satisfies Record<string, StateLook>;

export type WaitingFor = keyof typeof WAITING_LOOKS;

export const WAITING_WORDS: Record<WaitingFor, string> = {
  due: "for its time",
  worker: "for a worker",
  limit: "for a limit",
  dependency: "for a dependency",
  retry: "for its retry",
  paused: "while paused",
};

export const JOB_LOOKS = {
  active: look("Active", "play", "solid", "running"),
  paused: look("Paused", "pause", "dotted", "neutral"),
  completed: look("Completed", "check", "solid", "completed"),
  failed: look("Failed", "cross", "notched", "failed"),
  cancelled: look("Cancelled", "minus", "hatched", "neutral"),
  skipped: look("Skipped", "forward", "hatched", "neutral"),
} satisfies Record<string, StateLook>;

export type JobStatus = keyof typeof JOB_LOOKS;

export const HEALTH_LOOKS = {
  ok: look("OK", "check", "solid", "completed"),
  failing: look("Failing", "cross", "notched", "failed"),
  late: look("Late", "clock", "dashed", "retrying"),
  blocked: look("Blocked", "hourglass", "dotted", "retrying"),
  unknown: look("Not run yet", "question", "hollow", "neutral"),
} satisfies Record<string, StateLook>;

export type Health = keyof typeof HEALTH_LOOKS;

export const WORKER_LOOKS = {
  online: look("Online", "plug", "solid", "completed"),
  draining: look("Draining", "drain", "hatched", "retrying"),
  silent: look("Silent", "clock", "dashed", "retrying"),
  offline: look("Offline", "minus", "hatched", "neutral"),
} satisfies Record<string, StateLook>;

export const TASK_LOOKS = {
  active: look("Active", "play", "solid", "running"),
  disabled: look("Disabled", "pause", "dotted", "retrying"),
  retired: look("Retired", "minus", "hatched", "neutral"),
} satisfies Record<string, StateLook>;

export const BREAKER_LOOKS = {
  closed: look("Closed", "check", "solid", "completed"),
  open: look("Open", "bolt", "notched", "failed"),
  half_open: look("Half open", "retry", "dotted", "retrying"),
} satisfies Record<string, StateLook>;

export const PING_LOOKS = {
  new: look("Not heard yet", "question", "hollow", "neutral"),
  ok: look("OK", "check", "solid", "completed"),
  late: look("Late", "clock", "dashed", "retrying"),
  missing: look("Missing", "octagon", "hollow", "failed"),
  failed: look("Failed", "cross", "notched", "failed"),
} satisfies Record<string, StateLook>;

export const PING_RUN_LOOKS = {
  success: look("Success", "check", "solid", "completed"),
  failed: PING_LOOKS.failed,
  missing: PING_LOOKS.missing,
} satisfies Record<string, StateLook>;

export const CHANNEL_LOOKS = {
  ok: look("Delivers", "check", "solid", "completed"),
  failing: look("Failing", "cross", "notched", "failed"),
  paused: look("Paused", "pause", "dotted", "neutral"),
  unused: look("Told nothing yet", "question", "hollow", "neutral"),
} satisfies Record<string, StateLook>;

export const NOTIFICATION_LOOKS = {
  waiting: look("Gathered", "clock", "dashed", "neutral"),
  sending: look("On its way", "spinner", "solid", "running"),
  retrying: look("On its way", "retry", "dotted", "retrying"),
  sent: look("Sent", "check", "solid", "completed"),
  failed: look("Failed", "cross", "notched", "failed"),
} satisfies Record<string, StateLook>;

export const BACKFILL_LOOKS = {
  running: EXECUTION_LOOKS.running,
  completed: EXECUTION_LOOKS.completed,
  cancelled: EXECUTION_LOOKS.cancelled,
} satisfies Record<string, StateLook>;

export const UNKNOWN_LOOK = look("Unknown", "question", "hollow", "neutral");

/** The look of an execution, by its status and what it waits for. */
export function executionLook(status: string, waitingFor?: string | null): StateLook {
  if (status === "pending" && waitingFor && waitingFor in WAITING_LOOKS) return WAITING_LOOKS[waitingFor as WaitingFor];
  return lookOf(EXECUTION_LOOKS, status);
}

/** The look of a state; a state that this version does not know is shown by its name. */
export function lookOf(looks: Record<string, StateLook>, state: string): StateLook {
  return looks[state] ?? { ...UNKNOWN_LOOK, word: state };
}
