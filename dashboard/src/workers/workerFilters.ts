import type { FilterField, Filters } from "../list/FilterBar";

/** How the filters of the address become parameters of GET /v1/workers. */

export const WORKER_FIELDS: readonly FilterField[] = [
  { name: "q", kind: "search", label: "Search", placeholder: "Name, host, task, label", width: 200 },
  { name: "status", kind: "choice", label: "Status", options: ["online", "draining", "offline"], width: 110 },
  { name: "queue", kind: "text", label: "Queue", width: 110 },
  { name: "task", kind: "text", label: "Task", width: 130 },
  { name: "label", kind: "text", label: "Labels", placeholder: "Labels: a=1, b", width: 140 },
  { name: "host", kind: "text", label: "Host", width: 120 },
  { name: "version", kind: "text", label: "Version", width: 90 },
  { name: "sort", kind: "choice", label: "Order", placeholder: "Newest first", options: [{ value: "name", label: "By name" }], width: 130 },
];

const NAMES = new Set(WORKER_FIELDS.map(({ name }) => name));

export function workerQuery(filters: Filters): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(filters)) {
    if (!value || !NAMES.has(name)) continue;
    query[name] = name === "label" ? labelsIn(value) : value;
  }
  return query;
}

function labelsIn(text: string): string[] {
  return text.split(",").map((label) => label.trim()).filter(Boolean);
}

export function isFiltered(filters: Filters): boolean {
  return Object.keys(workerQuery(filters)).some((name) => name !== "sort");
}
