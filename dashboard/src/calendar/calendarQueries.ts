import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { answer, api, type Schemas } from "../api/client";
import type { StatsStep } from "../timeline/timeWindow";

export interface CalendarFilter {
  task?: string | undefined;
  queue?: string | undefined;
}

const iso = (at: number) => new Date(at).toISOString();

/** What happened. */
export function pastQuery(from: number, until: number, step: StatsStep, zone: string, { task, queue }: CalendarFilter) {
  const query = { from: iso(from), until: iso(until), step, timezone: zone, ...(task ? { task } : {}), ...(queue ? { queue } : {}) };
  return queryOptions({
    queryKey: ["stats", "calendar", query],
    queryFn: async () => (await answer(api.GET("/v1/stats", { params: { query } }))).items,
    enabled: until > from,
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  });
}

export interface DueCounts {
  items: Schemas["DueTimeCount"][];
  estimate: boolean;
  searchedUntil: string | null;
}

/** How much is due. The API counts by task or by queue: with both filters, the task decides. */
export function aheadQuery(from: number, until: number, step: string, zone: string, { task, queue }: CalendarFilter) {
  const by = task ? ("task" as const) : queue ? ("queue" as const) : undefined;
  const query = { from: iso(from), until: iso(until), step, timezone: zone, ...(by ? { by } : {}) };
  return queryOptions({
    queryKey: ["forecast", "calendar", query, task ?? queue],
    queryFn: async (): Promise<DueCounts> => {
      const found = await answer(api.GET("/v1/upcoming", { params: { query } }));
      const items = (found.items as Schemas["DueTimeCount"][]).filter((each) => !by || each[by] === (task ?? queue));
      return { items, estimate: "estimate" in found && found.estimate, searchedUntil: found.searched_until };
    },
    enabled: until > from,
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  });
}

/** What is due, one by one. */
export function dueListQuery(from: number, until: number) {
  const query = { from: iso(from), until: iso(until), limit: 200 };
  return queryOptions({
    queryKey: ["upcoming", "calendar", query],
    queryFn: async () => (await answer(api.GET("/v1/upcoming", { params: { query } }))).items as Schemas["DueTime"][],
    enabled: until > from,
    staleTime: 30_000,
  });
}
