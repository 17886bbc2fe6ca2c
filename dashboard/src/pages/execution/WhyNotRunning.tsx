import { useQuery } from "@tanstack/react-query";
import { answer, api, type Schemas } from "../../api/client";
import { Card } from "../../parts/Card";
import { ExecutionLink } from "../../parts/links";
import { TimeText } from "../../time/TimeText";
import classes from "./WhyNotRunning.module.css";

/** Why an execution does not run yet, in a sentence, with every cause and when it is expected to start. */
export function WhyNotRunning({ id }: { id: string }) {
  const why = useQuery({
    queryKey: ["executions", "why", id],
    queryFn: () => answer(api.GET("/v1/executions/{id}/why", { params: { path: { id } } })),
    refetchInterval: 5_000, // a backlog shrinks without an event of this execution
  });
  if (!why.data) return null;
  const { summary, causes, expected_start: expected, expected_start_reason: unknown } = why.data;
  return (
    <Card title="Why it does not run yet">
      <p className={classes.summary}>{summary}</p>
      {causes.length > 1 && (
        <ul className={classes.causes}>
          {causes.map((cause) => (
            <li key={`${cause.kind} ${cause.message}`}>
              <CauseWords cause={cause} />
            </li>
          ))}
        </ul>
      )}
      <p className={classes.start}>
        {expected ? (
          <>
            Expected to start <TimeText at={expected} />.
          </>
        ) : (
          unknown && `It starts ${unknown}.`
        )}
      </p>
    </Card>
  );
}

function CauseWords({ cause }: { cause: Schemas["Cause"] }) {
  return (
    <>
      {cause.message}
      {cause.executions.map((id) => (
        <span key={id}>
          {" "}
          <ExecutionLink id={id} />
        </span>
      ))}
    </>
  );
}
