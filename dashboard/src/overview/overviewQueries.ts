import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "../api/client";
import { every } from "../live/useLive";
import type { DueTimeCount, Overview } from "./overviewTypes";
import { STEP_LENGTHS, type StatsStep, type TimeWindow } from "../timeline/timeWindow";

const iso = (at: number) => new Date(at).toISOString();

/** Figures that change with every execution are read again no more often than this: "rests" for big installations. */
const FIGURES = 2_000;

export const overviewQuery = queryOptions({
  queryKey: ["overview"],
  queryFn: async (): Promise<Overview> => answer(api.GET("/v1/overview")),
  staleTime: FIGURES,
  refetchInterval: every(10_000),
});

export const pingsQuery = queryOptions({
  queryKey: ["pings", "overview"],
  queryFn: async () => {
    const states = ["missing", "failed"] as const;
    const found = await Promise.all(states.map((status) => answer(api.GET("/v1/pings", { params: { query: { status, limit: 20 } } }))));
    return found.flatMap(({ items }) => items);
  },
});

export const channelsQuery = queryOptions({
  queryKey: ["channels", "overview"],
  queryFn: async () => (await answer(api.GET("/v1/channels", { params: { query: { limit: 200 } } }))).items,
  staleTime: FIGURES,
  refetchInterval: every(10_000),
});

export const clusterQuery = queryOptions({
  queryKey: ["cluster", "overview"],
  queryFn: async () => answer(api.GET("/v1/cluster")),
  refetchInterval: every(15_000),
});

/** How much is due in each hour of the next day. */
export function loadQuery(from: number, hours: number) {
  const query = { from: iso(from), until: iso(from + hours * 3_600_000), step: "1h" };
  return queryOptions({
    queryKey: ["forecast", "load", query],
    queryFn: async () => {
      const found = await answer(api.GET("/v1/upcoming", { params: { query } }));
      return { items: found.items as DueTimeCount[], estimate: "estimate" in found && found.estimate };
    },
    staleTime: 60_000,
  });
}

/** Statistics of a window that ends now; the window is widened to whole steps, so that the key stays the same within one. */
export function statsQuery(window: TimeWindow, step: StatsStep) {
  const length = STEP_LENGTHS[step];
  const from = Math.floor(window.from / length) * length;
  const until = Math.ceil(window.until / length) * length;
  return queryOptions({
    queryKey: ["stats", "overview", from, until, step],
    queryFn: async () => (await answer(api.GET("/v1/stats", { params: { query: { from: iso(from), until: iso(until), step } } }))).items,
    staleTime: FIGURES,
  });
}
