import type { Schemas } from "../api/client";
import type { NotifyDraft } from "../notifications/NotifyField";
import { commandDraft, type CommandDraft, commandFields, NEW_COMMAND } from "./commandDraft";
import { DraftError } from "./draftError";

export { DraftError } from "./draftError";

/** A job as the form holds it: everything as text, so that half-typed values have a place. */
export interface JobDraft extends CommandDraft {
  name: string;
  key: string;
  description: string;
  owner: string;
  tags: string[];
  kind: "task" | "http" | "command";
  task: string;
  /** Created although nobody has offered or declared the task. */
  awaitsTask: boolean;
  url: string;
  method: string;
  /** After the answer 202: `callback`, the target reports how the execution ends; `poll`, its status URL is asked. */
  completion: string;
  /** How often a target that reports later must report at least; empty: it need not. */
  heartbeat: string;
  /** How often its status URL is asked, or JSON with more about that. */
  poll: string;
  sendParents: boolean;
  /** One `Name: value` per line. */
  headers: string;
  /** JSON; empty means none. */
  payload: string;
  /** Words, cron, an interval or a time; empty means now. With `scheduleJson` it is not used. */
  schedule: string;
  timezone: string;
  weekendsOff: boolean;
  holidays: string[];
  jitter: string;
  /** A schedule with parts that the builder does not know, as JSON; empty: not used. */
  scheduleJson: string;
  queue: string;
  priority: string;
  timeout: string;
  warnAfter: string;
  startWithin: string;
  deadline: string;
  maxAttempts: string;
  backoff: string;
  initial: string;
  maxDelay: string;
  overlap: string;
  catchUp: string;
  catchUpWithin: string;
  catchUpMax: string;
  onWorkerLost: string;
  dependsOn: string[];
  heartbeatUrl: string;
  notify: NotifyDraft[];
  /** How long executions are kept after their end; empty: as long as the queue, the tenant or the installation says. */
  keepFor: string;
  /** How many of them are kept at most. */
  keepLast: string;
}

export const NEW_DRAFT: JobDraft = {
  ...NEW_COMMAND,
  name: "", key: "", description: "", owner: "", tags: [],
  kind: "task", task: "", awaitsTask: false, url: "", method: "POST", completion: "answer", heartbeat: "", poll: "30s", sendParents: false, headers: "", payload: "",
  schedule: "every day at 09:00", timezone: "UTC", weekendsOff: false, holidays: [], jitter: "", scheduleJson: "",
  queue: "", priority: "", timeout: "", warnAfter: "", startWithin: "", deadline: "", maxAttempts: "", backoff: "exponential", initial: "1s", maxDelay: "1h",
  overlap: "skip", catchUp: "latest", catchUpWithin: "1h", catchUpMax: "100", onWorkerLost: "retry", dependsOn: [], heartbeatUrl: "",
  notify: [], keepFor: "", keepLast: "",
};

export type JobFields = Record<string, unknown>;

/** The body of POST /v1/jobs: only what differs from the defaults, so that it reads well. Throws DraftError. */
export function requestOf(draft: JobDraft): JobFields {
  const fields: JobFields = {};
  const put = (name: string, value: unknown) => {
    if (value !== "" && value !== undefined && !(Array.isArray(value) && value.length === 0)) fields[name] = value;
  };
  put("name", draft.name.trim());
  put("key", draft.key.trim());
  put("description", draft.description.trim());
  put("owner", draft.owner.trim());
  if (draft.kind === "task") {
    put("task", draft.task.trim());
    if (draft.awaitsTask) put("unknown_task", "wait");
  } else if (draft.kind === "http") put("http", httpOf(draft));
  else Object.assign(fields, commandFields(draft));
  if (draft.payload.trim()) fields["payload"] = readJson("payload", draft.payload);
  Object.assign(fields, scheduleFields(draft));
  put("queue", draft.queue.trim());
  put("priority", draft.priority);
  put("timeout", draft.timeout.trim());
  put("warn_after", draft.warnAfter.trim());
  put("start_within", draft.startWithin.trim());
  put("deadline", draft.deadline.trim());
  put("retry", retryOf(draft));
  if (draft.overlap !== NEW_DRAFT.overlap) put("overlap", draft.overlap);
  put("catch_up", catchUpOf(draft));
  if (draft.onWorkerLost !== NEW_DRAFT.onWorkerLost) put("on_worker_lost", draft.onWorkerLost);
  put("depends_on", draft.dependsOn.map(dependencyOf));
  put("tags", draft.tags);
  put("heartbeat_url", draft.heartbeatUrl.trim());
  put("notify", draft.notify);
  put("retention", retentionOf(draft));
  return fields;
}

function retentionOf({ keepFor, keepLast }: JobDraft): JobFields | undefined {
  const age = keepFor.trim();
  if (!age && !keepLast) return undefined;
  return { ...(age ? { age } : {}), ...(keepLast ? { last: Number(keepLast) } : {}) };
}

export function readJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new DraftError(path, `is not JSON: ${(error as Error).message}`);
  }
}

const OUTCOMES = { ":any": "any outcome", ":failure": "failure" };

/** As the command line takes it: `j12:any` for a parent that may end in any way, `j12:failure` for one that must fail, and
    JSON for one with a condition. */
function dependencyOf(text: string): unknown {
  if (text.trimStart().startsWith("{")) return readJson("depends_on", text);
  const found = Object.entries(OUTCOMES).find(([suffix]) => text.endsWith(suffix));
  return found ? { job: text.slice(0, -found[0].length), on: found[1] } : text;
}

export function dependencyText(dependency: unknown): string {
  if (typeof dependency === "string") return dependency;
  const { job, on, ...conditions } = dependency as { job: string; on?: string };
  if (Object.keys(conditions).length > 0) return JSON.stringify(dependency);
  const found = Object.entries(OUTCOMES).find(([, outcome]) => outcome === on);
  return found ? `${job}${found[0]}` : job;
}

function httpOf({ url, method, completion, heartbeat, poll, sendParents, headers }: JobDraft): JobFields {
  const given = headersOf(headers);
  return {
    url: url.trim(),
    ...(method === NEW_DRAFT.method ? {} : { method }),
    ...(completion === "callback" ? { completion } : {}),
    ...(completion === "callback" && heartbeat.trim() ? { heartbeat: heartbeat.trim() } : {}),
    ...(completion === "poll" ? { poll: pollOf(poll.trim()) } : {}),
    ...(sendParents ? { send_parents: true } : {}),
    ...(Object.keys(given).length > 0 ? { headers: given } : {}),
  };
}

/** As the command line takes it: `30s`, or JSON. */
function pollOf(text: string): unknown {
  return text.startsWith("{") ? readJson("http.poll", text) : { every: text };
}

export function headersOf(text: string): Record<string, string> {
  const lines = text.split("\n").map((line) => line.trim()).filter(Boolean);
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(":");
      if (colon < 1) throw new DraftError("http.headers", `“${line}” has no colon; write Name: value`);
      return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
    }),
  );
}

export function scheduleFields(draft: JobDraft): JobFields {
  if (draft.scheduleJson) return { schedule: readJson("schedule", draft.scheduleJson) };
  const text = draft.schedule.trim();
  if (!text) return {};
  const zone = draft.timezone && draft.timezone !== "UTC" ? { timezone: draft.timezone } : {};
  const exclude = {
    ...(draft.weekendsOff ? { weekends: true } : {}),
    ...(draft.holidays.length > 0 ? { holidays: draft.holidays } : {}),
  };
  const options = {
    ...(Object.keys(exclude).length > 0 ? { exclude } : {}),
    ...(draft.jitter.trim() ? { jitter: draft.jitter.trim() } : {}),
  };
  return { schedule: Object.keys(options).length > 0 ? { text, ...options } : text, ...zone };
}

function retryOf({ maxAttempts, backoff, initial, maxDelay }: JobDraft): JobFields | undefined {
  const retry = {
    ...(maxAttempts.trim() ? { max_attempts: wholeNumber("retry.max_attempts", maxAttempts) } : {}),
    ...(backoff === NEW_DRAFT.backoff ? {} : { backoff }),
    ...(initial.trim() === NEW_DRAFT.initial || !initial.trim() ? {} : { initial: initial.trim() }),
    ...(maxDelay.trim() === NEW_DRAFT.maxDelay || !maxDelay.trim() ? {} : { max: maxDelay.trim() }),
  };
  return Object.keys(retry).length > 0 ? retry : undefined;
}

function catchUpOf({ catchUp, catchUpWithin, catchUpMax }: JobDraft): JobFields | undefined {
  const fields = {
    ...(catchUp === NEW_DRAFT.catchUp ? {} : { policy: catchUp }),
    ...(catchUp === "skip" || catchUpWithin.trim() === NEW_DRAFT.catchUpWithin ? {} : { within: catchUpWithin.trim() }),
    ...(catchUp !== "all" || catchUpMax.trim() === NEW_DRAFT.catchUpMax ? {} : { max: wholeNumber("catch_up.max", catchUpMax) }),
  };
  return Object.keys(fields).length > 0 ? fields : undefined;
}

function wholeNumber(path: string, text: string): number {
  const value = Number(text.trim());
  if (!Number.isInteger(value)) throw new DraftError(path, `“${text}” is not a whole number`);
  return value;
}

const BUILDER_PARTS = new Set(["cron", "every", "rrule", "timezone", "exclude", "jitter", "at"]);

/** The draft of a job that exists, for editing it or for a copy of it. */
export function draftOf(job: Schemas["JobView"]): JobDraft {
  return {
    ...NEW_DRAFT,
    ...commandDraft(job),
    name: job.name ?? "",
    key: job.key ?? "",
    description: job.description ?? "",
    owner: job.owner ?? "",
    tags: [...job.tags],
    kind: job.http ? "http" : job.command ? "command" : "task",
    task: job.task ?? "",
    awaitsTask: job.unknown_task === "wait",
    url: job.http?.url ?? "",
    method: job.http?.method ?? "POST",
    completion: job.http?.poll ? "poll" : (job.http?.completion ?? "answer"),
    heartbeat: job.http?.heartbeat ? durationText(job.http.heartbeat) : "",
    poll: job.http?.poll ? JSON.stringify(job.http.poll) : NEW_DRAFT.poll,
    sendParents: job.http?.send_parents ?? false,
    headers: Object.entries(job.http?.headers ?? {}).map(([name, value]) => `${name}: ${value}`).join("\n"),
    payload: job.payload === null || job.payload === undefined ? "" : JSON.stringify(job.payload, null, 2),
    ...scheduleDraft(job.schedule as Record<string, unknown>),
    queue: job.queue,
    priority: job.priority,
    timeout: seconds(job.timeout),
    warnAfter: job.warn_after ? seconds(job.warn_after) : "",
    startWithin: job.start_within ? seconds(job.start_within) : "",
    deadline: typeof job.deadline === "number" ? seconds(job.deadline) : (job.deadline ?? ""),
    maxAttempts: String(job.retry.max_attempts),
    backoff: job.retry.backoff,
    initial: seconds(job.retry.initial),
    maxDelay: seconds(job.retry.max),
    overlap: job.overlap,
    catchUp: job.catch_up.policy,
    catchUpWithin: seconds(job.catch_up.within),
    catchUpMax: String(job.catch_up.max),
    onWorkerLost: job.on_worker_lost,
    dependsOn: job.depends_on.map(dependencyText),
    heartbeatUrl: job.heartbeat_url ?? "",
    notify: job.notify.map(({ on, to }) => ({ on: [...on], to: [...to] })),
    keepFor: job.retention?.age ? seconds(job.retention.age) : "",
    keepLast: String(job.retention?.last ?? ""),
  };
}

function durationText(duration: string | number): string {
  return typeof duration === "number" ? seconds(duration) : duration;
}

/** A canonical schedule as text and options; what the builder does not know stays JSON. */
export function scheduleDraft(schedule: Record<string, unknown>): Partial<JobDraft> {
  const exclude = (schedule["exclude"] ?? {}) as { weekends?: boolean; holidays?: string[]; dates?: string[] };
  const known = Object.keys(schedule).every((name) => BUILDER_PARTS.has(name)) && !exclude.dates;
  const text = scheduleText(schedule);
  if (!known || text === null) return { schedule: "", scheduleJson: JSON.stringify(schedule, null, 2) };
  return {
    schedule: text,
    timezone: typeof schedule["timezone"] === "string" ? schedule["timezone"] : "UTC",
    weekendsOff: exclude.weekends ?? false,
    holidays: exclude.holidays ?? [],
    jitter: typeof schedule["jitter"] === "number" ? seconds(schedule["jitter"]) : "",
  };
}

function scheduleText(schedule: Record<string, unknown>): string | null {
  if (typeof schedule["cron"] === "string") return schedule["cron"];
  if (typeof schedule["every"] === "number") return `every ${seconds(schedule["every"])}`;
  if (typeof schedule["rrule"] === "string") return `RRULE:${schedule["rrule"]}`;
  return typeof schedule["at"] === "string" ? schedule["at"] : null;
}

const UNITS: [number, string][] = [[86_400, "d"], [3600, "h"], [60, "m"], [1, "s"]];

/** 5400 is "90m", 0.5 is "0.5s": in the largest unit that divides it. */
export function seconds(value: number): string {
  const [size, unit] = UNITS.find(([each]) => value >= each && value % each === 0) ?? [1, "s"];
  return `${value / size}${unit}`;
}
