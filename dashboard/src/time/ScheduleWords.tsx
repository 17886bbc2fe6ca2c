interface ScheduleWordsProps {
  words: string;
  /** The canonical form, shown on hover. */
  schedule?: Record<string, unknown> | null;
}

/** A schedule in words; its exact form on hover. */
export function ScheduleWords({ words, schedule }: ScheduleWordsProps) {
  return <span data-tip={schedule ? exactForm(schedule) : undefined}>{words}</span>;
}

/** `cron: 0 9 * * MON · timezone: Europe/Paris` */
export function exactForm(schedule: Record<string, unknown>): string {
  return Object.entries(schedule)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(" · ");
}

/** The zone of a job's schedule, for TimeText and the zone switch. */
export function zoneOf(schedule: Record<string, unknown> | null | undefined): string | null {
  const zone = schedule?.["timezone"];
  return typeof zone === "string" ? zone : null;
}
