import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { answer, api, type Schemas } from "../api/client";
import { lineOf } from "../jobForm/commandWords";
import { Answer } from "../parts/Answer";
import { Card } from "../parts/Card";
import { JsonBlock } from "../parts/CodeBlock";
import { Facts } from "../parts/Facts";
import { ExecutionLink, JobLink } from "../parts/links";
import { PageHeader } from "../parts/PageHeader";
import { ExecutionBadge } from "../parts/StatusBadge";
import { Duration } from "../time/Duration";
import { zoneOf } from "../time/ScheduleWords";
import { TimeText } from "../time/TimeText";
import { AttemptErrors } from "./execution/AttemptErrors";
import classes from "./execution/AttemptErrors.module.css";
import { AttemptTimeline } from "./execution/AttemptTimeline";
import { ExecutionActions } from "./execution/ExecutionActions";
import { ExecutionCheckpoint } from "./execution/ExecutionCheckpoint";
import { ExecutionLog } from "./execution/ExecutionLog";
import { ExecutionPayload } from "./execution/ExecutionPayload";
import { ProgressBar } from "./execution/ProgressBar";
import { RelatedExecutions } from "./execution/RelatedExecutions";
import { usageWords } from "./execution/usageWords";
import { useExecutionLog } from "./execution/useExecutionLog";
import { WhyNotRunning } from "./execution/WhyNotRunning";

type Execution = Schemas["ExecutionView"];
type Job = Schemas["JobView"];

const TRIGGERS: Record<string, string> = {
  schedule: "its schedule",
  manual: "a manual run",
  backfill: "a backfill",
  retry: "a retry by request",
};

const route = getRouteApi("/inside/executions/$id");

export default function ExecutionPage() {
  const { id } = route.useParams();
  const execution = useQuery({
    queryKey: ["executions", "one", id],
    queryFn: () => answer(api.GET("/v1/executions/{id}", { params: { path: { id } } })),
  });
  return <Answer query={execution}>{(data) => <ShownExecution key={data.id} execution={data} />}</Answer>;
}

function ShownExecution({ execution }: { execution: Execution }) {
  const { id, job_id } = execution;
  const job = useQuery({
    queryKey: ["jobs", "one", job_id],
    queryFn: () => answer(api.GET("/v1/jobs/{id}", { params: { path: { id: job_id } } })),
  });
  const attempts = useQuery({
    queryKey: ["executions", "attempts", id],
    queryFn: async () => (await answer(api.GET("/v1/executions/{id}/attempts", { params: { path: { id } } }))).items,
  });
  const input = useQuery({
    queryKey: ["executions", "input", id, execution.attempt],
    queryFn: () => answer(api.GET("/v1/executions/{id}/input", { params: { path: { id } } })),
  });
  const log = useExecutionLog(id);
  const name = job.data?.name ?? job.data?.key ?? execution.task;
  const tries = attempts.data ?? [];
  const zone = job.data && zoneOf(job.data.schedule);
  const progress = log.progress ?? execution.progress;
  return (
    <>
      <PageHeader
        title={name}
        beside={<ExecutionBadge status={execution.status} waitingFor={execution.waiting_for} />}
        sentence={<code>{id}</code>}
        actions={<ExecutionActions execution={execution} jobName={name} input={input.data} />}
      />
      {execution.status === "pending" && <WhyNotRunning id={id} />}
      {execution.reason && (
        <Card title={execution.status === "failed" ? "Why it failed" : `Why it was ${execution.status}`}>
          {execution.error && (
            <p className={classes.error}>
              <strong>{execution.error.type}</strong> {execution.error.message.split("\n", 1)[0]}
            </p>
          )}
          {sentence(execution.reason)}
          {execution.blocked_by && (
            <>
              {" "}
              <ExecutionLink id={execution.blocked_by.execution_id} />
            </>
          )}
        </Card>
      )}
      <Card>
        <ExecutionFacts execution={execution} job={job.data} attempts={tries} />
        {execution.status === "running" && progress && <ProgressBar fraction={progress.fraction} message={progress.message} />}
      </Card>
      {wasDue(execution) && (
        <Card title="Time line">
          <AttemptTimeline execution={execution} attempts={tries} jobZone={zone} />
        </Card>
      )}
      {tries.some((each) => each.error ?? each.silent_for) && (
        <Card title={execution.status === "completed" ? "Errors before it completed" : "Errors"}>
          <AttemptErrors attempts={tries} />
        </Card>
      )}
      {wasDue(execution) && <ExecutionCheckpoint execution={execution} jobZone={zone} />}
      {wasDue(execution) && <ExecutionLog id={id} log={log} attempts={execution.attempt} jobZone={zone} />}
      {execution.status === "completed" && (
        <Card title="Result">
          <JsonBlock value={execution.result} what="the result" />
        </Card>
      )}
      {input.data && <ExecutionPayload input={input.data} />}
      <RelatedExecutions execution={execution} />
    </>
  );
}

/** The API's reasons are parts of sentences: "not to be retried". */
function sentence(reason: string): string {
  const whole = reason.startsWith("not to be retried") ? `It is ${reason}` : reason.charAt(0).toUpperCase() + reason.slice(1);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

/** What has not come to its time, or was skipped, has nothing to show yet. */
function wasDue(execution: Execution): boolean {
  return execution.waiting_for !== "due" && execution.status !== "skipped";
}

function ExecutionFacts({ execution, job, attempts }: { execution: Execution; job: Job | undefined; attempts: readonly Schemas["AttemptView"][] }) {
  const zone = job && zoneOf(job.schedule);
  const attempt = attempts.at(-1);
  const firstStart = attempts[0]?.started_at ?? execution.started_at;
  const worker = attempt?.worker_name ?? execution.worker;
  const isReported = execution.status === "running" && !worker && job?.http?.completion === "callback";
  const used = usageWords(attempt);
  return (
    <Facts
      roomy
      facts={[
        ["Job", <JobLink key="job" job={{ id: execution.job_id, name: job?.name ?? null, key: job?.key ?? null }} />],
        job?.command ? ["Command", <code key="command">{lineOf(job.command)}</code>] : ["Task", <Link key="task" to="/jobs" search={{ task: execution.task }}>{execution.task}</Link>],
        ["Queue", job && <Link key="queue" to="/queues" search={{ queue: job.queue }}>{job.queue}</Link>],
        ["Triggered by", TRIGGERS[execution.trigger] ?? execution.trigger],
        ["Scheduled for", <TimeText key="scheduled" at={execution.scheduled_for} jobZone={zone} absolute />],
        ["Started", <TimeText key="started" at={execution.started_at} jobZone={zone} missing="not yet" />],
        ["Start delay", firstStart ? <Duration key="delay" from={execution.scheduled_for} until={firstStart} /> : null],
        ["Ran for", <Duration key="duration" from={execution.started_at} until={execution.finished_at} />],
        ["Attempt", `${execution.attempt} of ${execution.max_attempts}`],
        ["Worker", isReported ? "none: the target reports when it is done" : worker],
        ...(used ? ([["Used", used]] as const) : []),
      ]}
    />
  );
}
