import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useFilters } from "../list/useFilters";
import { Answer } from "../parts/Answer";
import { Card } from "../parts/Card";
import { Chart } from "../parts/Chart";
import { formatDuration } from "../time/formatDuration";
import { useNow } from "../time/now";
import { RANGES, rangeOf, STEP_LENGTHS, stepFor, windowOf } from "../timeline/timeWindow";
import { statsQuery } from "./overviewQueries";
import { trendSeries } from "./trendSeries";

const HEIGHT = 150;

/** What ran and what failed over the range of the time line, and how late it started. */
export function Trends() {
  const [search] = useFilters();
  const range = rangeOf(search["range"]);
  const now = useNow(() => 15_000).getTime();
  const shown = windowOf(range, now, search["from"], search["until"]);
  const window = shown.from < now ? { from: shown.from, until: Math.min(shown.until, now) } : { from: now - RANGES[range], until: now };
  const step = stepFor(window, now);
  const query = useQuery({ ...statsQuery(window, step), placeholderData: keepPreviousData });
  const navigate = useNavigate();
  const choose = (from: number, until: number) =>
    void navigate({ to: "/executions", search: { since: new Date(from * 1000).toISOString(), until: new Date(until * 1000).toISOString() } });
  const length = STEP_LENGTHS[step];
  return (
    <>
      <Card title="Executions and failures">
        <Answer query={query}>
          {(points) => {
            const { times, ran, failed } = trendSeries(points, window.from, window.until, length);
            return (
              <Chart
                title={`Ended, in steps of ${formatDuration(length / 1000)}`}
                times={times}
                series={[
                  { label: "ended", values: ran, color: "var(--state-completed)", draw: "bars" },
                  { label: "of them failed", values: failed, color: "var(--state-failed)", draw: "bars" },
                ]}
                height={HEIGHT}
                group="overview"
                formatValue={(value) => (Number.isInteger(value) ? value.toLocaleString("en") : "")}
                onRange={choose}
              />
            );
          }}
        </Answer>
      </Card>
      <Card title="Start delay">
        <Answer query={query}>
          {(points) => {
            const { times, p50, p95, p99 } = trendSeries(points, window.from, window.until, length);
            return (
              <Chart
                title="From the due time to the start"
                times={times}
                series={[
                  { label: "p50", values: p50, color: "var(--state-running)" },
                  { label: "p95", values: p95, color: "var(--state-retrying)", dash: [6, 3] },
                  { label: "p99", values: p99, color: "var(--state-failed)", dash: [2, 2] },
                ]}
                height={HEIGHT}
                group="overview"
                formatValue={formatDuration}
                onRange={choose}
              />
            );
          }}
        </Answer>
      </Card>
    </>
  );
}
