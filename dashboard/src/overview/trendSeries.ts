import type { Point } from "./overviewTypes";

export interface TrendSeries {
  /** Seconds since 1970. */
  times: number[];
  ran: number[];
  failed: number[];
  p50: (number | null)[];
  p95: (number | null)[];
  p99: (number | null)[];
}

/** Every step of a range; the API leaves out those in which nothing happened. Milliseconds. */
export function trendSeries(points: readonly Point[], from: number, until: number, step: number): TrendSeries {
  const known = new Map(points.map((point) => [Date.parse(point.at), point]));
  const times: number[] = [];
  for (let at = Math.ceil(from / step) * step; at < until; at += step) times.push(at);
  const found = times.map((at) => known.get(at));
  const delay = (name: "p50" | "p95" | "p99") => found.map((point) => point?.start_delay?.[name] ?? null);
  return {
    times: times.map((at) => at / 1000),
    ran: found.map((point) => (point ? point.completed + point.failed : 0)),
    failed: found.map((point) => point?.failed ?? 0),
    p50: delay("p50"),
    p95: delay("p95"),
    p99: delay("p99"),
  };
}
