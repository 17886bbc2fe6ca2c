import { Button } from "@mantine/core";
import { IconRotate } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { answer, api, type Schemas } from "../../api/client";
import { useMay } from "../../api/session";
import { Card } from "../../parts/Card";
import { JsonBlock } from "../../parts/CodeBlock";
import { confirm } from "../../parts/confirm";
import { toast, toastProblem } from "../../parts/toast";
import { formatDuration } from "../../time/formatDuration";
import { TimeText } from "../../time/TimeText";
import classes from "./ExecutionCheckpoint.module.css";

type Checkpoint = Schemas["CheckpointView"];
type Step = Schemas["StepView"];

const REFRESH = 2_000; // milliseconds, while an attempt may store more

/** What the attempts have stored, from which the next one goes on. Nothing if they have stored nothing. */
export function ExecutionCheckpoint({ execution, jobZone }: { execution: Schemas["ExecutionView"]; jobZone?: string | null | undefined }) {
  const { id } = execution;
  const may = useMay("write");
  const checkpoint = useQuery({
    queryKey: ["executions", "checkpoint", id],
    queryFn: () => answer(api.GET("/v1/executions/{id}/checkpoint", { params: { path: { id } } })),
    refetchInterval: execution.status === "running" ? REFRESH : false,
  });
  if (!checkpoint.data || isEmpty(checkpoint.data)) return null;
  const { steps, state, state_attempt, state_at } = checkpoint.data;
  return (
    <Card title="Checkpoint" actions={may && execution.status === "failed" && <StartAfresh id={id} />}>
      <p className={classes.meaning}>{meaning(execution.status)}</p>
      {steps.length > 0 && (
        <ol className={classes.steps}>
          {steps.map((step) => (
            <StepRow key={step.name} step={step} jobZone={jobZone} />
          ))}
        </ol>
      )}
      {state_attempt !== null && (
        <>
          <h3 className={classes.heading}>
            State, stored by attempt {state_attempt}, <TimeText at={state_at} jobZone={jobZone} />
          </h3>
          <JsonBlock value={state} what="the state" maxHeight={200} />
        </>
      )}
    </Card>
  );
}

/** Retries the execution without what it has stored. */
function StartAfresh({ id }: { id: string }) {
  const queries = useQueryClient();
  const params = { path: { id } };
  const start = useMutation({
    mutationFn: async () => {
      await answer(api.DELETE("/v1/executions/{id}/checkpoint", { params }));
      await answer(api.POST("/v1/executions/{id}/retry", { params }));
    },
    onSuccess: () => {
      toast("It is tried again, from the beginning");
      return queries.invalidateQueries({ queryKey: ["executions"] });
    },
    onError: toastProblem,
  });
  const ask = async () => {
    const yes = await confirm({
      title: `Start ${id} from the beginning?`,
      effect: "What its attempts have stored is deleted, and it is tried again: steps that were done run once more. Retry instead goes on from here.",
      action: "Delete and retry",
      danger: true,
    });
    if (yes) start.mutate();
  };
  return (
    <Button variant="default" leftSection={<IconRotate size={14} />} loading={start.isPending} onClick={() => void ask()}>
      Start from the beginning
    </Button>
  );
}

function StepRow({ step, jobZone }: { step: Step; jobZone: string | null | undefined }) {
  return (
    <li>
      <details>
        <summary className={classes.summary}>
          <span className={classes.name}>{step.name}</span>
          <span className={classes.facts}>
            attempt {step.attempt} · {step.took !== null && `${formatDuration(step.took)} · `}
            <TimeText at={step.stored_at} jobZone={jobZone} />
          </span>
        </summary>
        <JsonBlock value={step.result} what={`the result of ${step.name}`} maxHeight={200} />
      </details>
    </li>
  );
}

function isEmpty(checkpoint: Checkpoint): boolean {
  return checkpoint.steps.length === 0 && checkpoint.state_attempt === null;
}

function meaning(status: Schemas["ExecutionView"]["status"]): string {
  if (status === "completed") return "What its attempts stored on the way.";
  return "The next attempt goes on from here: steps that are done do not run again. That holds for a retry by request, too.";
}
