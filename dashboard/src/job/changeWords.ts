const WORDS: Record<string, string> = {
  "job.created": "Created",
  "job.changed": "Changed",
  "job.paused": "Paused",
  "job.resumed": "Resumed",
  "job.cancelled": "Cancelled",
};

export function changeWords(kind: string): string {
  return WORDS[kind] ?? kind;
}

/** "fields schedule, owner · key deploy": the detail of an event, in a line. */
export function detailWords(detail: Record<string, unknown>): string {
  return Object.entries(detail)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${name} ${valueWords(value)}`)
    .join(" · ");
}

function valueWords(value: unknown): string {
  if (Array.isArray(value)) return value.map(valueWords).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
