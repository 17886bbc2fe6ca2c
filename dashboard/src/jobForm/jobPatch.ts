import { type JobDraft, type JobFields, requestOf } from "./jobDraft";

/** Fields of a request that take their default when a patch says null. */
const RESETTABLE = [
  "name", "key", "description", "owner", "payload", "schedule", "timezone", "queue", "priority", "timeout", "warn_after",
  "start_within", "deadline", "retry", "overlap", "catch_up", "on_worker_lost", "depends_on", "tags", "task", "unknown_task", "http",
  "command", "env", "cwd", "stdin", "exit_codes", "process_limits", "heartbeat_url", "notify", "retention",
];

/** The merge patch that makes one draft of the other: only what changed, and null for what is gone. */
export function patchOf(before: JobDraft, after: JobDraft): JobFields {
  return difference(requestOf(before), requestOf(after), RESETTABLE);
}

function difference(before: JobFields, after: JobFields, names: readonly string[]): JobFields {
  const patch: JobFields = {};
  for (const name of names) {
    if (JSON.stringify(before[name]) === JSON.stringify(after[name])) continue;
    patch[name] = name in after ? replaced(before[name], after[name]) : null;
  }
  return patch;
}

/** In a merge patch, a name that an object had and has no more must be null. */
function replaced(before: unknown, after: unknown): unknown {
  if (!isObject(before) || !isObject(after)) return after;
  const gone = Object.keys(before).filter((name) => !(name in after));
  const kept = Object.entries(after).map(([name, value]) => [name, replaced(before[name], value)]);
  return { ...Object.fromEntries(kept), ...Object.fromEntries(gone.map((name) => [name, null])) };
}

function isObject(value: unknown): value is JobFields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
