/** Which answers of the API an event makes old: the first words of their query keys. */
export function affectedQueries(kind: string): string[] {
  return AFFECTED[kind.split(".")[0] ?? ""] ?? [];
}

const TOLD = ["notifications", "channels"];
const WORK = ["executions", "jobs", "stats", "queues", "workers", "errors", "dead-letters", "upcoming", "overview", "forecast"];

const AFFECTED: Record<string, string[]> = {
  execution: [...WORK, ...TOLD, "workflows", "events"],
  pulse: [...WORK, "workflows"],
  job: ["jobs", "upcoming", "workflows", "events", "overview", "forecast"],
  breaker: ["breakers", "events", "overview", ...TOLD],
  worker: ["workers", "tasks", "queues", "events", "overview", ...TOLD],
  queue: ["queues", "events", "overview", ...TOLD],
  key: ["keys", "events"],
  ping: ["pings", "events", "overview", ...TOLD],
  node: ["cluster", "events", ...TOLD],
  cluster: ["cluster", "events", "overview"],
};
