import { useQuery } from "@tanstack/react-query";
import { AttentionList } from "../overview/AttentionList";
import { Backlog } from "../overview/Backlog";
import { ComingLoad } from "../overview/ComingLoad";
import { FirstSteps } from "../overview/FirstSteps";
import { NextRuns } from "../overview/NextRuns";
import classes from "../overview/overview.module.css";
import { overviewQuery } from "../overview/overviewQueries";
import type { Overview } from "../overview/overviewTypes";
import { StandingSentence } from "../overview/StandingSentence";
import { Trends } from "../overview/Trends";
import { Problem } from "../parts/Problem";
import { PageHeader } from "../parts/PageHeader";
import { Timeline } from "../timeline/Timeline";

export default function OverviewPage() {
  const overview = useQuery(overviewQuery);
  const isNew = overview.data !== undefined && isUnused(overview.data);
  return (
    <>
      <div className="visually-hidden">
        <PageHeader title="Overview" />
      </div>
      {overview.error && !overview.data && <Problem error={overview.error} onRetry={() => void overview.refetch()} />}
      {isNew ? (
        <FirstSteps />
      ) : (
        <>
          <StandingSentence overview={overview.data} />
          <Timeline />
          <div className={classes.columns}>
            <div className={classes.wide}>
              <AttentionList />
            </div>
            <div>
              <NextRuns />
            </div>
          </div>
          <div className={classes.four}>
            <Trends />
            <Backlog />
            <ComingLoad />
          </div>
        </>
      )}
    </>
  );
}

/** Nothing ran, nothing is due and nothing waits. */
function isUnused({ last_24_hours: day, next_runs, backlog, dead_letters, failing_jobs }: Overview): boolean {
  return day.fired + day.started + day.missed + backlog.waiting + backlog.running + dead_letters + failing_jobs === 0 && next_runs.length === 0;
}
