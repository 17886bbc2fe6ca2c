import { Button } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { answer, api, type Schemas } from "../api/client";
import { CodeBlock, JsonBlock } from "../parts/CodeBlock";
import { ExecutionLink } from "../parts/links";
import { Problem } from "../parts/Problem";
import { ExecutionBadge } from "../parts/StatusBadge";
import { Duration } from "../time/Duration";
import { type JobDraft, requestOf } from "./jobDraft";
import classes from "./JobForm.module.css";

/** Runs what the form says once, now, as a one-time job of its own, and shows how it goes. */
export function TryOut({ draft, onError }: { draft: JobDraft; onError: (error: unknown) => void }) {
  const create = useMutation({
    mutationFn: async () => answer(api.POST("/v1/jobs", { body: tryOutOf(draft) as never })),
    onError,
  });
  const id = create.data?.execution_id;
  const execution = useQuery({
    queryKey: ["executions", "one", id],
    queryFn: () => answer(api.GET("/v1/executions/{id}", { params: { path: { id: id ?? "" } } })),
    enabled: Boolean(id),
  });
  return (
    <div className={classes.tryOut}>
      <Button variant="default" leftSection={<IconPlayerPlay size={14} />} loading={create.isPending} onClick={() => create.mutate()} w="fit-content">
        Try it out
      </Button>
      <span className={classes.hint}>Runs it once now, with one attempt, as a job tagged try-out.</span>
      {Boolean(create.error) && <Problem error={create.error} />}
      {execution.data && <Outcome execution={execution.data} />}
    </div>
  );
}

const TRIED = new Set(["task", "http", "command", "env", "cwd", "stdin", "exit_codes", "process_limits", "payload", "queue", "timeout"]);

function tryOutOf(draft: JobDraft): Record<string, unknown> {
  const wanted = requestOf({ ...draft, schedule: "", scheduleJson: "" });
  const given = Object.fromEntries(Object.entries(wanted).filter(([name]) => TRIED.has(name)));
  return { name: `Try-out of ${draft.name || draft.task || draft.url || draft.command}`.slice(0, 200), ...given, retry: { max_attempts: 1 }, tags: ["try-out"] };
}

function Outcome({ execution }: { execution: Schemas["ExecutionView"] }) {
  return (
    <div className={classes.outcome} role="status" aria-label="Outcome of the try-out">
      <div className={classes.line}>
        <ExecutionBadge status={execution.status} waitingFor={execution.waiting_for} />
        {execution.started_at && <Duration from={execution.started_at} until={execution.finished_at} />}
        <ExecutionLink id={execution.id}>Open the execution</ExecutionLink>
      </div>
      {execution.error && <CodeBlock code={`${execution.error.type}: ${execution.error.message}`} what="the error" wrap maxHeight={160} />}
      {execution.result !== null && execution.result !== undefined && <JsonBlock value={execution.result} what="the result" maxHeight={200} />}
    </div>
  );
}
