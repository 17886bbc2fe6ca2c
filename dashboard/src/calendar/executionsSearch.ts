import type { CalendarFilter } from "./calendarQueries";

/** The address of the executions of a part of time. */
export function executionsSearch({ from, until }: { from: number; until: number }, filter: CalendarFilter, status?: string) {
  return { since: new Date(from).toISOString(), until: new Date(until - 1).toISOString(), ...filter, ...(status ? { status } : {}) };
}
