import { jobTitle } from "../parts/jobTitle";
import type { Channel, Overview, Ping } from "./overviewTypes";

/** Something that needs somebody, and what can be done about it. */
export type Concern =
  | { kind: "job"; id: string; name: string; failures: number; since: string; at: string }
  | { kind: "cause"; fingerprint: string; type: string; task: string; message: string | null; deadLetters: number; lastHour: number; at: string }
  | { kind: "breaker"; destination: string; state: string; waiting: number; reason: string | null; at: string }
  | { kind: "queue"; name: string; depth: number; isExact: boolean; age: number; why: "paused" | "no worker" | "slow" }
  | { kind: "channel"; name: string; error: string | null; undelivered: number; at: string | null }
  | { kind: "ping"; name: string; status: string; failures: number; at: string | null }
  | { kind: "worker"; id: string; name: string; holding: number; at: string }
  | { kind: "node"; id: string; host: string; status: string; problems: readonly string[]; at: string };

interface Node {
  id: string;
  host: string;
  status: string;
  problems: readonly string[];
  seen_at: string;
}

const STUCK_AFTER = 60; // seconds that the oldest execution waits

/** All that needs attention. What stops everything comes first, then what fails, then what waits. */
export function concernsOf(overview: Overview, nodes: readonly Node[] = [], pings: readonly Ping[] = [], channels: readonly Channel[] = []): Concern[] {
  return [...nodesOf(nodes), ...workersOf(overview), ...channelsOf(channels), ...breakersOf(overview), ...queuesOf(overview), ...pingsOf(pings), ...jobsOf(overview), ...causesOf(overview)];
}

function nodesOf(nodes: readonly Node[]): Concern[] {
  return nodes
    .filter(({ status }) => status !== "ready")
    .map(({ id, host, status, problems, seen_at }) => ({ kind: "node", id, host, status, problems, at: seen_at }));
}

/** Alive by its lease, but without a sign of life; what it holds is given to others once the lease ends. */
function workersOf({ silent }: Overview): Concern[] {
  return silent.map(({ id, name, holding, heartbeat_at }) => ({ kind: "worker", id, name, holding, at: heartbeat_at }));
}

function breakersOf({ breakers }: Overview): Concern[] {
  return breakers.map(({ destination, state, waiting, reason, since }) => ({ kind: "breaker", destination, state, waiting, reason, at: since }));
}

function queuesOf({ queues, unserved_queues }: Overview): Concern[] {
  return queues
    .filter(({ depth, oldest_age }) => depth > 0 && (oldest_age ?? 0) > STUCK_AFTER)
    .map((queue) => ({
      kind: "queue",
      name: queue.name,
      depth: queue.depth,
      isExact: queue.depth_is_exact,
      age: queue.oldest_age ?? 0,
      why: queue.paused ? "paused" : unserved_queues.includes(queue.name) ? "no worker" : "slow",
    }));
}

/** Where notifications do not arrive: whoever reads them does not hear of the rest. */
function channelsOf(channels: readonly Channel[]): Concern[] {
  return channels
    .filter(({ paused, deliveries }) => deliveries.is_failing && !paused)
    .map(({ name, deliveries }) => ({ kind: "channel", name, error: deliveries.error, undelivered: deliveries.sending + deliveries.waiting, at: deliveries.last_sent_at }));
}

/** What runs elsewhere and stayed away, or reported a failure. */
function pingsOf(pings: readonly Ping[]): Concern[] {
  return pings.map(({ name, status, failures_in_a_row, failing_since }) => ({ kind: "ping", name, status, failures: failures_in_a_row, at: failing_since }));
}

function jobsOf({ worst }: Overview): Concern[] {
  return worst.map(({ job_id, name, key, failures_in_a_row, failing_since, last_failed_at }) => ({
    kind: "job",
    id: job_id,
    name: jobTitle({ name, key, id: job_id }),
    failures: failures_in_a_row,
    since: failing_since,
    at: last_failed_at,
  }));
}

/** Those with the most dead letters first. */
function causesOf({ causes }: Overview): Concern[] {
  return causes
    .toSorted((one, other) => other.dead_letters - one.dead_letters || other.last_hour - one.last_hour)
    .map(({ fingerprint, type, task, message, dead_letters, last_hour, last_seen }) => ({
      kind: "cause", fingerprint, type, task, message, deadLetters: dead_letters, lastHour: last_hour, at: last_seen,
    }));
}
