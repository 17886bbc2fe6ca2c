import { Link } from "@tanstack/react-router";
import type { Schemas } from "../api/client";
import { CodeBlock } from "../parts/CodeBlock";
import { Facts } from "../parts/Facts";
import { ExecutionLink, JobLink } from "../parts/links";
import { TimeText } from "../time/TimeText";
import classes from "./Notifications.module.css";

type Item = Schemas["NotificationItem"];

interface Example {
  word: string;
  at: string;
  job: Schemas["NotifiedJob"] | null | undefined;
  execution: Schemas["NotifiedExecution"] | null | undefined;
}

/** The first fact of a cause, and the last one if there are several. */
export function FactExamples({ item }: { item: Item }) {
  const several = (item.count ?? 1) > 1 && item.last_at;
  const examples: Example[] = [
    { word: several ? "The first" : "", at: item.at, job: item.job, execution: item.execution },
    ...(several ? [{ word: "The last", at: item.last_at ?? item.at, job: item.last_job, execution: item.last_execution }] : []),
  ];
  const said = new Set([item.execution?.error_message, item.execution?.error_type]);
  const details = Object.entries(item.detail ?? {}).filter(([, value]) => !said.has(value as string));
  return (
    <>
      {examples.map((example) => (
        <OneFact key={example.word} example={example} />
      ))}
      {details.length > 0 && (
        <section className={classes.example}>
          <h3>Details</h3>
          <Facts facts={details.map(([name, value]) => [titleOf(name), typeof value === "string" ? value : JSON.stringify(value)] as const)} />
        </section>
      )}
      {!item.execution && item.path && /^\/[a-z]/.test(item.path) && <p className={classes.where}>It is shown at <Link to={item.path}>{item.path}</Link>.</p>}
    </>
  );
}

/** "failed_in_a_row" is "Failed in a row". */
function titleOf(name: string): string {
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function OneFact({ example: { word, at, job, execution } }: { example: Example }) {
  const error = execution?.error_message ?? execution?.error_type;
  return (
    <section className={classes.example}>
      {word && <h3>{word}</h3>}
      <Facts
        facts={[
          ["When", <TimeText key="at" at={at} />],
          ...(job ? ([["Job", <JobLink key="job" job={job} />]] as const) : []),
          ...(execution ? ([["Execution", <ExecutionLink key="execution" id={execution.id} />]] as const) : []),
          ...(execution?.attempt ? ([["Attempt", execution.attempt]] as const) : []),
          ...(job?.task ? ([["Task", job.task]] as const) : []),
          ...(job?.queue ? ([["Queue", <Link key="queue" to="/queues" search={{ queue: job.queue }}>{job.queue}</Link>]] as const) : []),
          ...(execution?.scheduled_for ? ([["Scheduled for", <TimeText key="scheduled" at={execution.scheduled_for} absolute />]] as const) : []),
          ...(job?.tags?.length ? ([["Tags", job.tags.join(", ")]] as const) : []),
        ]}
      />
      {error && (
        <div className={classes.error}>
          <CodeBlock code={[execution?.error_type, execution?.error_message].filter(Boolean).join(": ")} what="the error" wrap maxHeight={200} />
        </div>
      )}
    </section>
  );
}
