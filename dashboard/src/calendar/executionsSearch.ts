import type { CalendarFilter } from "./calendarQueries";

/** The address of the executions of a part of time. */
export function executionsSearch({ from, until }: { from: number; until: number }, { task, queue }: CalendarFilter, status?: string) {
  return {
    since: new Date(from).toISOString(),
    until: new Date(until - 1).toISOString(),
    ...(task ? { task } : {}),
    ...(queue ? { queue } : {}),
    ...(status ? { status } : {}),
  };
}
