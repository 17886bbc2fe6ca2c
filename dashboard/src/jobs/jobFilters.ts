import type { FilterField, Filters } from "../list/FilterBar";

/** How the filters of the address become parameters of GET /v1/jobs, and conditions of POST /v1/jobs/bulk. */

const HOUR = 3_600_000;

const NEXT_RUN: Record<string, number> = { "1h": HOUR, "6h": 6 * HOUR, "24h": 24 * HOUR, "7d": 7 * 24 * HOUR };

export const JOB_FIELDS: readonly FilterField[] = [
  { name: "q", kind: "search", label: "Search jobs", placeholder: "Search name, key, tags", width: 200 },
  { name: "status", kind: "choice", label: "Status", options: ["active", "paused", "completed", "failed", "cancelled", "skipped"], width: 100 },
  { name: "health", kind: "choice", label: "Health", options: ["failing", "late", "blocked", "ok", "unknown"], width: 96 },
  { name: "task", kind: "text", label: "Task", placeholder: "Task or a.*", width: 110 },
  { name: "queue", kind: "text", label: "Queue", width: 90 },
  { name: "tag", kind: "text", label: "Tags", placeholder: "Tags: a, b", width: 96 },
  { name: "owner", kind: "text", label: "Owner", width: 90 },
  { name: "priority", kind: "choice", label: "Priority", options: ["critical", "high", "normal", "low"], width: 96 },
  {
    name: "next",
    kind: "choice",
    label: "Next run",
    options: [
      { value: "1h", label: "within 1 hour" },
      { value: "6h", label: "within 6 hours" },
      { value: "24h", label: "within 24 hours" },
      { value: "7d", label: "within 7 days" },
    ],
    width: 126,
  },
];

/** Shown only while they are set, by a view or a link. */
const OTHER_FIELDS: readonly FilterField[] = [
  {
    name: "recurring",
    kind: "choice",
    label: "Kind",
    options: [
      { value: "true", label: "recurring" },
      { value: "false", label: "one-time" },
    ],
    width: 120,
  },
  { name: "due_after", kind: "text", label: "Next run after", width: 190 },
  { name: "due_before", kind: "text", label: "Next run before", width: 190 },
];

export function fieldsFor(filters: Filters): FilterField[] {
  return [...JOB_FIELDS, ...OTHER_FIELDS.filter(({ name }) => filters[name])];
}

export const SHORTCUTS: readonly { word: string; filters: Filters }[] = [
  { word: "All", filters: {} },
  { word: "Recurring", filters: { recurring: "true" } },
  { word: "One-time", filters: { recurring: "false" } },
  { word: "Failing", filters: { health: "failing" } },
  { word: "Late", filters: { health: "late" } },
  { word: "Blocked", filters: { health: "blocked" } },
  { word: "Paused", filters: { status: "paused" } },
  { word: "Due within an hour", filters: { next: "1h", sort: "next_run_at" } },
];

export type JobConditions = Record<string, string | string[]>;

/** The conditions that jobs must meet: without order, and with `next` as a range of time. */
export function conditionsOf(filters: Filters, now: Date): JobConditions {
  const conditions: JobConditions = {};
  for (const [name, value] of Object.entries(filters)) {
    if (!value || name === "sort" || name === "next") continue;
    if (name === "tag") conditions["tag"] = tagsIn(value);
    else conditions[name] = value;
  }
  const range = NEXT_RUN[filters["next"] ?? ""];
  if (range !== undefined) {
    conditions["due_after"] = now.toISOString();
    conditions["due_before"] = new Date(now.getTime() + range).toISOString();
  }
  return conditions;
}

export function tagsIn(text: string): string[] {
  return text.split(",").map((tag) => tag.trim()).filter(Boolean);
}

/** "status paused, tag billing": what a confirmation says. */
export function filterWords(filters: Filters): string {
  const words = [...JOB_FIELDS, ...OTHER_FIELDS].flatMap(({ name, label, options }) => {
    const value = filters[name];
    if (!value) return [];
    const option = options?.find((each) => typeof each !== "string" && each.value === value);
    return [`${label.toLowerCase()} ${typeof option === "object" ? option.label : value}`];
  });
  return words.join(", ");
}

/** How many filters beside the order are set. */
export function isFiltered(filters: Filters): boolean {
  return Object.entries(filters).some(([name, value]) => name !== "sort" && Boolean(value));
}
