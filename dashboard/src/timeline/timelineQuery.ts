import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { answer, api } from "../api/client";
import { every } from "../live/useLive";
import type { TimeWindow } from "./timeWindow";

/** All that the time line shows, in one answer. The rows are chosen by the server if nobody says by what. */
export function timelineQuery({ from, until }: TimeWindow, by: "job" | "task" | undefined, again: number) {
  const query = { from: new Date(from).toISOString(), until: new Date(until).toISOString(), ...(by ? { by } : {}) };
  return queryOptions({
    queryKey: ["timeline", query],
    queryFn: () => answer(api.GET("/v1/timeline", { params: { query } })),
    placeholderData: keepPreviousData,
    staleTime: 5_000,
    refetchInterval: every(again),
  });
}
