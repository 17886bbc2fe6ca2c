import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { answer, api, type Schemas } from "../api/client";
import { OutcomeStrip } from "../jobs/OutcomeStrip";
import { lineOf } from "../jobForm/commandWords";
import { AppliedNotifications } from "../notifications/AppliedNotifications";
import { formatBytes } from "../operations/formatBytes";
import { Card } from "../parts/Card";
import { JsonBlock } from "../parts/CodeBlock";
import { CopyButton } from "../parts/CopyButton";
import { EmptyState } from "../parts/EmptyState";
import { Facts } from "../parts/Facts";
import { StateIcon } from "../parts/StateIcon";
import { executionLook } from "../parts/states";
import { Duration } from "../time/Duration";
import { formatDuration } from "../time/formatDuration";
import { zoneOf } from "../time/ScheduleWords";
import { TimeText } from "../time/TimeText";
import { DurationScatter } from "./DurationScatter";
import classes from "./Job.module.css";
import type { Job } from "./useJobActions";

const SHOWN = 200;

/** How a job is doing, and what it is. */
export function JobOverview({ job }: { job: Job }) {
  const health = useQuery({
    queryKey: ["jobs", "health", job.id],
    queryFn: () => answer(api.GET("/v1/jobs/{id}/health", { params: { path: { id: job.id } } })),
  });
  const runs = useQuery({
    queryKey: ["executions", "durations", job.id],
    queryFn: async () => (await answer(api.GET("/v1/jobs/{id}/executions", { params: { path: { id: job.id }, query: { limit: SHOWN } } }))).items,
  });
  const recent = (runs.data ?? []).filter(({ finished_at }) => finished_at !== null).map(({ id, status, scheduled_for, started_at, finished_at }) => ({ id, status, scheduled_for, started_at, finished_at }));
  return (
    <div className={classes.columns}>
      <div>
        <Card title="Durations">
          {runs.data && recent.length === 0 ? (
            <EmptyState title="It has not run yet" text="Its durations show here." command={`tickwork job run ${job.id}`} />
          ) : (
            <>
              <div className={classes.strip}>
                <OutcomeStrip runs={recent} />
              </div>
              <DurationScatter runs={recent} typical={health.data?.typical_duration ?? null} p95={health.data?.p95_duration ?? null} />
            </>
          )}
        </Card>
        <Card title="Definition">
          <Definition job={job} />
        </Card>
        {job.payload !== null && job.payload !== undefined && (
          <Card title="Payload">
            <JsonBlock value={job.payload} what="the payload" maxHeight={260} />
          </Card>
        )}
      </div>
      <div>
        <Card title="How it is doing">
          <Doing job={job} health={health.data} />
        </Card>
        <Card title="Next runs">
          <NextRuns job={job} times={health.data?.next_runs} />
        </Card>
        <Card title="Who is told, and why">
          <AppliedNotifications job={job} />
        </Card>
      </div>
    </div>
  );
}

function Doing({ job, health }: { job: Job; health: Schemas["JobHealthView"] | undefined }) {
  const last = job.last_run;
  const zone = zoneOf(job.schedule);
  return (
    <Facts
      facts={[
        ["Last run", last ? <LastRun key="last" last={last} zone={zone} /> : "none yet"],
        ["Running now", job.running],
        ["Succeeded", health?.success_share === null || health?.success_share === undefined ? "–" : `${(100 * health.success_share).toFixed(1)} % of ${health.runs}`],
        ["Typical duration", <Duration key="typical" seconds={health?.typical_duration} />],
        ["95 % are below", <Duration key="p95" seconds={health?.p95_duration} />],
        ...(health?.heartbeat ? ([["Heartbeat", <HeartbeatState key="heartbeat" heartbeat={health.heartbeat} />]] as const) : []),
        ...(job.failing_since ? ([["Failing since", <TimeText key="since" at={job.failing_since} jobZone={zone} />]] as const) : []),
      ]}
    />
  );
}

function HeartbeatState({ heartbeat: { called_at, error } }: { heartbeat: Schemas["HeartbeatView"] }) {
  if (error) return <span data-tip={error}>failed <TimeText at={called_at} />: {error}</span>;
  return <>called <TimeText at={called_at} missing="not yet" /></>;
}

function LastRun({ last, zone }: { last: Schemas["LastRun"]; zone: string | null }) {
  return (
    <Link to="/executions/$id" params={{ id: last.execution_id }}>
      <span style={{ display: "inline-flex", gap: 6, alignItems: "center" }}>
        <StateIcon look={executionLook(last.status)} labelled />
        <TimeText at={last.finished_at} jobZone={zone} />
      </span>
    </Link>
  );
}

function NextRuns({ job, times }: { job: Job; times: readonly string[] | undefined }) {
  if (job.status === "paused") return <span className={classes.secondary}>None while it is paused.</span>;
  if (!times || times.length === 0) return <span className={classes.secondary}>None.</span>;
  const zone = zoneOf(job.schedule);
  return (
    <ul className={classes.list}>
      {times.slice(0, 5).map((at) => (
        <li key={at}>
          <TimeText at={at} jobZone={zone} />
          <span className={classes.secondary}>
            <TimeText at={at} jobZone={zone} absolute />
          </span>
        </li>
      ))}
    </ul>
  );
}

function Definition({ job }: { job: Job }) {
  const retry = job.retry;
  return (
    <Facts
      facts={[
        ["Id", <Copied key="id" text={job.id} what="the id" />],
        ["Key", job.key ? <Copied key="key" text={job.key} what="the key" /> : "–"],
        ...whatRuns(job),
        ["Queue", <Link key="queue" to="/queues" search={{ queue: job.queue }}>{job.queue}</Link>],
        ["Priority", job.priority],
        ["Time zone", zoneOf(job.schedule) ?? "–"],
        ["Overlap", job.overlap],
        ["Catch-up", job.catch_up.policy === "skip" ? "skip" : `${job.catch_up.policy}, within ${formatDuration(job.catch_up.within)}`],
        ["Attempts", `${retry.max_attempts}, ${retry.backoff} from ${formatDuration(retry.initial)}`],
        ["Timeout", <Duration key="timeout" seconds={job.timeout} />],
        ...(job.warn_after ? ([["Warns after", <Duration key="warn" seconds={job.warn_after} />]] as const) : []),
        ...(job.start_within ? ([["Starts within", <Duration key="start" seconds={job.start_within} />]] as const) : []),
        ...(job.deadline ? ([["Deadline", typeof job.deadline === "number" ? `${formatDuration(job.deadline)} after the due time` : job.deadline]] as const) : []),
        ...(job.requires.worker ? ([["Runs only on", job.requires.worker]] as const) : []),
        ...(job.unknown_task === "wait" ? ([["If its task is unknown", "it waits"]] as const) : []),
        ["When its worker is lost", job.on_worker_lost],
        ...(job.retention ? ([["Keeps", keptText(job.retention)]] as const) : []),
        ["Owner", job.owner ? <Link key="owner" to="/jobs" search={{ owner: job.owner }}>{job.owner}</Link> : "–"],
        ["Tags", job.tags.length > 0 ? <Tags key="tags" tags={job.tags} /> : "–"],
        ["Created", <TimeText key="created" at={job.created_at} />],
        ["Changed", <span key="changed"><TimeText at={job.updated_at} /> (version {job.version})</span>],
        ...(job.heartbeat_url ? ([["Heartbeat URL", <code key="heartbeat">{job.heartbeat_url}</code>]] as const) : []),
        ...(job.description ? ([["Description", job.description]] as const) : []),
      ]}
    />
  );
}

function keptText({ age, last }: NonNullable<Job["retention"]>): string {
  const texts = [age ? `executions for ${formatDuration(age)}` : null, last ? `the last ${last.toLocaleString("en")}` : null];
  return texts.filter(Boolean).join(", at most ");
}

function whatRuns(job: Job): (readonly [string, React.ReactNode])[] {
  if (job.http) return [["Calls", `${job.http.method} ${job.http.url}`]];
  if (!job.command) return [["Task", <Link key="task" to="/jobs" search={{ task: job.task ?? "" }}>{job.task}</Link>]];
  const { memory, cpu_time, output, files } = job.process_limits ?? {};
  const limits = [memory && `${formatBytes(memory)} of memory`, cpu_time && `${formatDuration(cpu_time)} of CPU time`, output && `${formatBytes(output)} of output`, files && `${files} open files`];
  const { success = [0], final = [] } = job.exit_codes ?? {};
  return [
    ["Command", <code key="command">{lineOf(job.command)}</code>],
    ...Object.entries(job.env ?? {}).map(([name, value]) => [name, <code key={name}>{value}</code>] as const),
    ...(job.cwd ? ([["Folder", <code key="folder">{job.cwd}</code>]] as const) : []),
    ...(job.stdin ? ([["Standard input", <code key="stdin">{job.stdin}</code>]] as const) : []),
    ["Exit codes", `${success.join(", ")} ${success.length === 1 ? "is" : "are"} success${final.length > 0 ? `; no retry after ${final.join(", ")}` : ""}`],
    ["Process limits", limits.filter(Boolean).join(", ")],
  ];
}

function Tags({ tags }: { tags: readonly string[] }) {
  return tags.map((tag, place) => (
    <span key={tag}>
      {place > 0 && ", "}
      <Link to="/jobs" search={{ tag }}>
        {tag}
      </Link>
    </span>
  ));
}

function Copied({ text, what }: { text: string; what: string }) {
  return (
    <span style={{ display: "inline-flex", alignItems: "center", gap: 4 }}>
      <code>{text}</code>
      <CopyButton text={text} what={what} />
    </span>
  );
}
