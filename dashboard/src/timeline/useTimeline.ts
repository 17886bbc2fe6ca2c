import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { rowOf } from "./rowOf";
import { timelineQuery } from "./timelineQuery";
import { rounded, type TimeWindow } from "./timeWindow";

const SHORTEST_REST = 5_000; // milliseconds
const PARTS = 1_000; // of the window: it is read again when about a pixel has passed

/** What the time line shows, read again by itself: more often where less time is shown. */
export function useTimeline(window: TimeWindow, now: number, wanted: string | undefined) {
  const again = Math.max(SHORTEST_REST, (window.until - window.from) / PARTS);
  const by = wanted === "job" || wanted === "task" ? wanted : undefined;
  const query = useQuery(timelineQuery(rounded(window), by, again));
  const rows = useMemo(() => (query.data?.rows ?? []).map((row) => rowOf(row, now)), [query.data, now]);
  return { query, rows, by: by ?? query.data?.by ?? "job" };
}
