import type { FilterField, Filters } from "../list/FilterBar";

/** How the filters of the address become parameters of GET /v1/executions, and conditions of POST /v1/executions/bulk. */

const HOUR = 3_600_000;
const DUE: Record<string, number> = { "1h": HOUR, "24h": 24 * HOUR, "7d": 7 * 24 * HOUR };
const YES = [{ value: "true", label: "yes" }];

const FIELDS: readonly FilterField[] = [
  { name: "status", kind: "choice", label: "Status", options: ["pending", "running", "completed", "failed", "cancelled", "skipped"], width: 120 },
  { name: "job", kind: "search", label: "Job", placeholder: "Job id or key:NAME", width: 160 },
  { name: "task", kind: "text", label: "Task", width: 130 },
  { name: "queue", kind: "text", label: "Queue", width: 110 },
  { name: "error", kind: "text", label: "Error type", width: 130 },
  { name: "tag", kind: "text", label: "Tag", width: 100 },
  {
    name: "since",
    kind: "choice",
    label: "Due",
    options: [
      { value: "1h", label: "in the last hour" },
      { value: "24h", label: "in the last 24 hours" },
      { value: "7d", label: "in the last 7 days" },
    ],
    width: 160,
  },
];

/** Instead of a distance from now: the time that a link gave. */
const SINCE_TIME: FilterField = { name: "since", kind: "text", label: "Due since", width: 190 };

/** Shown while they are set: by a view, by "more filters" or by a link. */
export const MORE_FIELDS: readonly FilterField[] = [
  { name: "waiting_for", kind: "choice", label: "Waits for", options: ["due", "worker", "limit", "dependency", "retry", "paused"], width: 130 },
  { name: "worker", kind: "text", label: "Worker id", width: 110 },
  { name: "timed_out", kind: "choice", label: "Timed out", options: YES, width: 110 },
  { name: "retrying", kind: "choice", label: "Retrying", options: YES, width: 110 },
  { name: "blocked", kind: "choice", label: "Blocked", options: YES, width: 110 },
  { name: "not_taken", kind: "choice", label: "Not taken", options: YES, width: 110 },
  { name: "longer_than", kind: "text", label: "Ran longer than", placeholder: "Ran longer than 5m", width: 160 },
  { name: "later_than", kind: "text", label: "Later than", placeholder: "Later than 1m", width: 140 },
  { name: "until", kind: "text", label: "Due until", width: 190 },
];

/** The fields to show: all if somebody asked for more, else the common ones and what is set. */
export function fieldsFor(filters: Filters, more: boolean): FilterField[] {
  const since = filters["since"];
  const common = since && !(since in DUE) ? FIELDS.map((field) => (field.name === "since" ? SINCE_TIME : field)) : FIELDS;
  return [...common, ...MORE_FIELDS.filter(({ name }) => more || filters[name])];
}

export const VIEWS: readonly { word: string; filters: Filters }[] = [
  { word: "All", filters: {} },
  { word: "Running", filters: { status: "running" } },
  { word: "Waiting for a worker", filters: { waiting_for: "worker" } },
  { word: "Failed", filters: { status: "failed" } },
  { word: "Retrying", filters: { retrying: "true" } },
  { word: "Timed out", filters: { timed_out: "true" } },
  { word: "Blocked", filters: { blocked: "true" } },
  { word: "Late", filters: { later_than: "1m" } },
  { word: "Skipped", filters: { status: "skipped" } },
  { word: "Not taken", filters: { not_taken: "true" } },
];

/** The conditions that executions must meet, with a distance from now as a time. */
export function conditionsOf(filters: Filters, now: Date): Record<string, string> {
  const conditions: Record<string, string> = {};
  for (const [name, value] of Object.entries(filters)) {
    if (!value || name === "sort") continue;
    const ago = name === "since" ? DUE[value] : undefined;
    conditions[name] = ago === undefined ? value : new Date(now.getTime() - ago).toISOString();
  }
  return conditions;
}

/** "status failed, task etl": what a confirmation says. */
export function filterWords(filters: Filters): string {
  return [...FIELDS, ...MORE_FIELDS].flatMap(({ name, label }) => (filters[name] ? [`${label.toLowerCase()} ${filters[name]}`] : [])).join(", ");
}

export function isFiltered(filters: Filters): boolean {
  return Object.entries(filters).some(([name, value]) => name !== "sort" && Boolean(value));
}
