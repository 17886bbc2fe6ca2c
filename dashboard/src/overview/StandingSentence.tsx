import { Skeleton } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { jobTitle } from "../parts/jobTitle";
import { formatDuration } from "../time/formatDuration";
import { TimeText } from "../time/TimeText";
import classes from "./overview.module.css";
import type { Overview } from "./overviewTypes";
import { atLeast, count, share } from "./figures";

const DAY = 86_400_000;

/** How things stand, in one sentence after the other; each number leads to what it counts. */
export function StandingSentence({ overview }: { overview: Overview | undefined }) {
  if (!overview) return <Skeleton height={28} width="70%" mb={16} />;
  const { last_24_hours: day, backlog, next_runs } = overview;
  const [next] = next_runs;
  return (
    <p className={classes.standing}>
      <Trouble overview={overview} />{" "}
      <span>
        <Link to="/executions" search={{ since: sinceYesterday(overview.at) }}>
          {count(day.completed + day.failed, "execution")}
        </Link>{" "}
        in 24 h
        {day.success_share !== null && (
          <>
            ,{" "}
            <Link to="/executions" search={{ since: sinceYesterday(overview.at), status: day.failed > 0 ? "failed" : "completed" }}>
              {share(day.success_share)}
            </Link>{" "}
            succeeded
          </>
        )}
        .
      </span>{" "}
      <span>
        <Link to="/executions" search={{ status: "running" }}>
          {backlog.running.toLocaleString("en")} running
        </Link>
        ,{" "}
        <Link to="/queues">{atLeast(backlog.waiting, backlog.exact)} waiting</Link>
        {backlog.waiting > 0 && backlog.oldest_age !== null && <> for up to {formatDuration(backlog.oldest_age)}</>}.
      </span>{" "}
      {next && (
        <span>
          Next: <Link to="/jobs/$id" params={{ id: next.job_id }}>{jobTitle({ ...next, id: next.job_id })}</Link> <TimeText at={next.at} due />.
        </span>
      )}
    </p>
  );
}

function Trouble({ overview }: { overview: Overview }) {
  const { failing_jobs, failing_jobs_exact, dead_letters, dead_letters_exact, open_breakers, failing_pings } = overview;
  const parts = [
    failing_jobs > 0 && (
      <Link key="jobs" to="/jobs" search={{ health: "failing" }}>
        {atLeast(failing_jobs, failing_jobs_exact)} {failing_jobs === 1 ? "job fails" : "jobs fail"}
      </Link>
    ),
    dead_letters > 0 && (
      <Link key="letters" to="/dead-letters">
        {atLeast(dead_letters, dead_letters_exact)} dead {dead_letters === 1 ? "letter waits" : "letters wait"}
      </Link>
    ),
    open_breakers > 0 && (
      <Link key="breakers" to="/breakers">
        {count(open_breakers, "breaker")} {open_breakers === 1 ? "is" : "are"} open
      </Link>
    ),
    failing_pings > 0 && (
      <Link key="pings" to="/pings">
        {count(failing_pings, "ping")} {failing_pings === 1 ? "fails or stays" : "fail or stay"} away
      </Link>
    ),
  ].filter(Boolean);
  if (overview.paused) parts.unshift(<Link key="paused" to="/cluster">the cluster is paused</Link>);
  if (parts.length === 0) return <span>All is well.</span>;
  return <span>{parts.map((part, place) => [place > 0 && (place === parts.length - 1 ? " and " : ", "), part])}.</span>;
}

function sinceYesterday(at: string): string {
  return new Date(Date.parse(at) - DAY).toISOString();
}
