import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { answer, api, type Schemas } from "../api/client";
import type { StatsStep } from "../timeline/timeWindow";

/** Whose executions: of what fits all that is given. */
export interface CalendarFilter {
  job?: string;
  tag?: string;
  task?: string;
  queue?: string;
}

const NAMES = ["job", "tag", "task", "queue"] as const;

/** What the address says of it. */
export function filterOf(search: Readonly<Record<string, string | undefined>>): CalendarFilter {
  return Object.fromEntries(NAMES.flatMap((name) => (search[name] ? [[name, search[name]]] : [])));
}

const iso = (at: number) => new Date(at).toISOString();

/** What happened. */
export function pastQuery(from: number, until: number, step: StatsStep, zone: string, filter: CalendarFilter) {
  const query = { from: iso(from), until: iso(until), step, timezone: zone, ...filter };
  return queryOptions({
    queryKey: ["stats", "calendar", query],
    queryFn: () => answer(api.GET("/v1/stats", { params: { query } })),
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

/** How much is due. */
export function aheadQuery(from: number, until: number, step: string, zone: string, filter: CalendarFilter) {
  const query = { from: iso(from), until: iso(until), step, timezone: zone, ...filter };
  return queryOptions({
    queryKey: ["forecast", "calendar", query],
    queryFn: async (): Promise<DueCounts> => {
      const found = await answer(api.GET("/v1/upcoming", { params: { query } }));
      return { items: found.items as Schemas["DueTimeCount"][], estimate: "estimate" in found && found.estimate, searchedUntil: found.searched_until };
    },
    enabled: until > from,
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  });
}

/** What is due, one by one. */
export function dueListQuery(from: number, until: number, filter: CalendarFilter) {
  const query = { from: iso(from), until: iso(until), limit: 50, ...filter };
  return queryOptions({
    queryKey: ["upcoming", "calendar", query],
    queryFn: async () => (await answer(api.GET("/v1/upcoming", { params: { query } }))).items as Schemas["DueTime"][],
    enabled: until > from,
    staleTime: 30_000,
  });
}
