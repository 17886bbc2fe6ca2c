import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { answer, api, type Schemas } from "../api/client";
import { jobTitle } from "../parts/jobTitle";
import { STEP_LENGTHS, type StatsStep, type TimeWindow } from "./timeWindow";

type Execution = Schemas["ExecutionView"];
type DueTime = Schemas["DueTime"];
export type Point = Schemas["StatisticsPoint"];

const PAGE = 500;
const MOST_PAGES_AHEAD = 4;
const iso = (at: number) => new Date(at).toISOString();

/** What ran in a window: a sample of the latest, all that run, and the latest failures. Enough to choose the lanes. */
export function sampleQuery({ from, until }: TimeWindow, refetchInterval: number | false) {
  return queryOptions({
    queryKey: ["timeline", "sample", from, until],
    queryFn: async () => {
      const range = { since: iso(from), until: iso(until) };
      const queries = [{ limit: PAGE }, { limit: 100, status: "failed" as const }, { limit: 100, status: "running" as const }];
      const all = await Promise.all(queries.map(async (query) => (await answer(api.GET("/v1/executions", { params: { query: { ...range, ...query } } }))).items));
      return [...new Map(all.flat().map((each) => [each.id, each])).values()];
    },
    placeholderData: keepPreviousData,
    staleTime: 5_000,
    refetchInterval,
  });
}

export interface DueTimes {
  items: DueTime[];
  /** All due times before this one are known: the end of the window, unless there are too many. */
  until: number;
}

/** What is due in a window, one by one, up to a bound. */
export function dueTimesQuery({ from, until }: TimeWindow) {
  return queryOptions({
    queryKey: ["timeline", "due", from, until],
    queryFn: async (): Promise<DueTimes> => {
      const items: DueTime[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < MOST_PAGES_AHEAD; page += 1) {
        const query = { from: iso(from), until: iso(until), limit: PAGE, ...(cursor ? { cursor } : {}) };
        // oxlint-disable-next-line no-await-in-loop -- a page names the next one
        const found = await answer(api.GET("/v1/upcoming", { params: { query } }));
        items.push(...(found.items as DueTime[]));
        cursor = ("next_cursor" in found && found.next_cursor) || undefined;
        if (!cursor) return { items, until };
      }
      return { items, until: Date.parse(items.at(-1)?.at ?? "") || until };
    },
    placeholderData: keepPreviousData,
    enabled: until > from,
    staleTime: 30_000,
  });
}

/** How often each task was due in each step, for what lies beyond the due times that are listed one by one. */
export function dueCountsQuery({ from, until }: TimeWindow, step: number, enabled: boolean) {
  const query = { from: iso(from), until: iso(until), step: `${Math.max(1, Math.ceil(step / 1000))}s`, by: "task" as const };
  return queryOptions({
    queryKey: ["timeline", "counts", query],
    queryFn: async () => (await answer(api.GET("/v1/upcoming", { params: { query } }))).items as Schemas["DueTimeCount"][],
    enabled: enabled && until > from,
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  });
}

/** How long the attempts of each task took lately. */
export function runTimesQuery(now: number) {
  const hour = STEP_LENGTHS["1h"];
  const until = Math.ceil(now / hour) * hour;
  return queryOptions({
    queryKey: ["timeline", "run times", until],
    queryFn: async () => {
      const query = { from: iso(until - 25 * hour), until: iso(until), step: "1h" as const, by: "task" as const };
      return (await answer(api.GET("/v1/stats", { params: { query } }))).items;
    },
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  });
}

export interface LanePast {
  executions: Execution[];
  /** Instead, where there are too many executions: what happened in each step. */
  points?: Point[];
  step?: number;
}

/** The past of one lane: its executions, or its statistics if they are many. */
export function laneQuery(by: "job" | "task", id: string, window: TimeWindow, step: StatsStep, refetchInterval: number | false) {
  const range = { since: iso(window.from), until: iso(window.until) };
  const only = by === "job" ? { job: id } : { task: id };
  return queryOptions({
    queryKey: ["timeline", "lane", id, window.from, window.until, by],
    queryFn: async (): Promise<LanePast> => {
      const page = await answer(api.GET("/v1/executions", { params: { query: { ...range, ...only, limit: PAGE } } }));
      if (!page.next_cursor) return { executions: page.items };
      const query = { from: range.since, until: range.until, step, ...only };
      const { items } = await answer(api.GET("/v1/stats", { params: { query } }));
      const unfinished = page.items.filter(({ status }) => status === "running" || status === "pending");
      return { executions: unfinished, points: items, step: STEP_LENGTHS[step] };
    },
    placeholderData: keepPreviousData,
    staleTime: 2_000,
    retry: 1,
    refetchInterval,
  });
}

/** Executions do not say what their job is called. */
export function jobNameQuery(id: string) {
  return queryOptions({
    queryKey: ["timeline", "job", id],
    queryFn: async () => {
      const { name, key, task } = await answer(api.GET("/v1/jobs/{id}", { params: { path: { id } } }));
      return jobTitle({ name, key, task, id });
    },
    staleTime: 60_000,
    retry: false,
  });
}
