import { jobTitle } from "../parts/jobTitle";
import type { Breaker, ErrorGroup, Overview, Queue, Worker } from "./overviewTypes";

/** Something that needs somebody, and what can be done about it. */
export type Concern =
  | { kind: "job"; id: string; name: string; failures: number; since: string; at: string }
  | { kind: "cause"; fingerprint: string; type: string; task: string; message: string | null; deadLetters: number; lastHour: number; at: string }
  | { kind: "breaker"; destination: string; state: string; waiting: number; reason: string | null; at: string }
  | { kind: "queue"; name: string; depth: number; isExact: boolean; age: number; why: "paused" | "no worker" | "slow" }
  | { kind: "worker"; id: string; name: string; holding: number; at: string }
  | { kind: "node"; id: string; host: string; status: string; problems: readonly string[]; at: string };

interface Node {
  id: string;
  host: string;
  status: string;
  problems: readonly string[];
  seen_at: string;
}

export interface Signs {
  overview?: Overview | undefined;
  errors?: readonly ErrorGroup[] | undefined;
  breakers?: readonly Breaker[] | undefined;
  queues?: readonly Queue[] | undefined;
  workers?: readonly Worker[] | undefined;
  nodes?: readonly Node[] | undefined;
  now: number;
}

const STUCK_AFTER = 60; // seconds that the oldest execution waits
const SILENT_AFTER = 10_000; // milliseconds; a worker reports every 3 seconds
const RECENT = 3_600_000; // milliseconds

/** All that needs attention. What stops everything comes first, then what fails, then what waits. */
export function concernsOf(signs: Signs): Concern[] {
  return [...nodes(signs), ...workers(signs), ...breakers(signs), ...queues(signs), ...jobs(signs), ...causes(signs)];
}

function nodes({ nodes: given = [] }: Signs): Concern[] {
  return given
    .filter(({ status }) => status !== "ready")
    .map(({ id, host, status, problems, seen_at }) => ({ kind: "node", id, host, status, problems, at: seen_at }));
}

/** Alive by its lease, but without a sign of life; what it holds is given to others once the lease ends. */
function workers({ workers: given = [], now }: Signs): Concern[] {
  return given
    .filter(({ status, heartbeat_at }) => status !== "offline" && now - Date.parse(heartbeat_at) > SILENT_AFTER)
    .map(({ id, name, holding, heartbeat_at }) => ({ kind: "worker", id, name, holding, at: heartbeat_at }));
}

function breakers({ breakers: given = [] }: Signs): Concern[] {
  return given
    .filter(({ state }) => state !== "closed")
    .map(({ destination, state, waiting, reason, since }) => ({ kind: "breaker", destination, state, waiting, reason, at: since }));
}

function queues({ queues: given = [], workers: known }: Signs): Concern[] {
  const alive = known?.filter(({ status }) => status === "online");
  return given
    .filter(({ depth, oldest_age }) => depth > 0 && (oldest_age ?? 0) > STUCK_AFTER)
    .map((queue) => ({
      kind: "queue",
      name: queue.name,
      depth: queue.depth,
      isExact: queue.depth_is_exact,
      age: queue.oldest_age ?? 0,
      why: queue.paused ? "paused" : alive && !alive.some((worker) => serves(worker, queue.name)) ? "no worker" : "slow",
    }));
}

function serves({ queues: served }: Worker, queue: string): boolean {
  return served.length === 0 || served.includes(queue);
}

function jobs({ overview }: Signs): Concern[] {
  return (overview?.worst ?? []).map(({ job_id, name, key, failures_in_a_row, failing_since, last_failed_at }) => ({
    kind: "job",
    id: job_id,
    name: jobTitle({ name, key, id: job_id }),
    failures: failures_in_a_row,
    since: failing_since,
    at: last_failed_at,
  }));
}

/** Causes that left dead letters, or that still go on. */
function causes({ errors = [], now }: Signs): Concern[] {
  return errors
    .filter(({ dead_letters, last_hour, last_seen }) => dead_letters > 0 || (last_hour > 0 && now - Date.parse(last_seen) < RECENT))
    .toSorted((one, other) => other.dead_letters - one.dead_letters || other.last_hour - one.last_hour)
    .map(({ fingerprint, type, task, message, dead_letters, last_hour, last_seen }) => ({
      kind: "cause", fingerprint, type, task, message, deadLetters: dead_letters, lastHour: last_hour, at: last_seen,
    }));
}
