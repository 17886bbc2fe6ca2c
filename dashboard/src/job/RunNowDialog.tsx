import { Button, Group, Modal, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { answer, api, type Schemas } from "../api/client";
import { commandDraft, commandFields } from "../jobForm/commandDraft";
import { fieldErrorsOf } from "../jobForm/fieldErrors";
import { draftOf, readJson } from "../jobForm/jobDraft";
import { PayloadField } from "../jobForm/PayloadField";
import { useTasks } from "../jobForm/useTasks";
import { Problem } from "../parts/Problem";
import { randomId } from "../parts/randomId";
import { toast } from "../parts/toast";
import type { Job } from "./useJobActions";
import { jobTitle } from "../parts/jobTitle";

interface RunNowDialogProps {
  job: Job;
  onClose: () => void;
  /** Runs the job as it is, on the worker of this name if one is given. */
  onRun: (worker?: string) => void;
}

/** Runs a job now: as it is, or with other parameters, which makes a one-time job of the same task. */
export default function RunNowDialog({ job, onClose, onRun }: RunNowDialogProps) {
  const navigate = useNavigate();
  const before = draftOf(job).payload;
  const [payload, setPayload] = useState(before);
  const [worker, setWorker] = useState("");
  const [key] = useState(randomId);
  const tasks = useTasks();
  const schema = tasks.data?.find(({ name }) => name === job.task)?.parameters ?? null;
  const changed = payload.trim() !== before.trim();
  const runCopy = useMutation({
    mutationFn: async () => {
      const requires = worker.trim() ? { requires: { ...job.requires, worker: worker.trim() } } : {};
      const body = { ...copyOf(job), ...requires, ...(payload.trim() ? { payload: readJson("payload", payload) } : {}) };
      return answer(api.POST("/v1/jobs", { body: body as never, headers: { "idempotency-key": key } }));
    },
    onSuccess: (made) => {
      toast(`${jobTitle(job)} runs now with other parameters`);
      if (made.execution_id) void navigate({ to: "/executions/$id", params: { id: made.execution_id } });
      onClose();
    },
  });
  const run = () => {
    if (changed) {
      runCopy.mutate();
      return;
    }
    onClose();
    onRun(worker.trim() || undefined);
  };
  return (
    <Modal opened onClose={onClose} title={`Run ${jobTitle(job)} now`} size="lg" closeButtonProps={{ "aria-label": "Close" }}>
      <Text mb="md">
        {changed
          ? "It runs once with these parameters, as a one-time job beside this one. The job itself stays as it is."
          : "It runs once now, beside its schedule, even if another run of it has not ended."}
      </Text>
      <PayloadField label={job.http ? "Body" : "Parameters"} schema={schema} value={payload} onChange={setPayload} errors={fieldErrorsOf(runCopy.error)} />
      {!job.http && (
        <TextInput
          label="Only on the worker"
          description="Its name. Empty: any worker that fits."
          value={worker}
          onChange={(event) => setWorker(event.currentTarget.value)}
          maxLength={200}
          maw={320}
          mt="sm"
          spellCheck={false}
        />
      )}
      {Boolean(runCopy.error) && <Problem error={runCopy.error} />}
      <Group justify="flex-end" mt="lg" gap="sm">
        <Button variant="default" onClick={onClose}>
          Keep things as they are
        </Button>
        <Button onClick={run} loading={runCopy.isPending} data-autofocus>
          Run it now
        </Button>
      </Group>
    </Modal>
  );
}

/** The policies of the job, for one run. */
function copyOf(job: Job): Partial<Schemas["JobRequest"]> {
  return {
    name: `${jobTitle(job)} (other parameters)`.slice(0, 200),
    ...(job.task ? { task: job.task } : {}),
    ...(job.http ? { http: job.http } : {}),
    ...(job.command ? commandFields(commandDraft(job)) : {}),
    queue: job.queue,
    priority: job.priority,
    timeout: job.timeout,
    warn_after: job.warn_after,
    retry: { max_attempts: job.retry.max_attempts, backoff: job.retry.backoff, initial: job.retry.initial, max: job.retry.max } as Schemas["RetryRequest"],
    on_worker_lost: job.on_worker_lost,
    requires: job.requires,
    limits: job.limits,
    tags: [...job.tags, `run-of-${job.id}`].slice(0, 50),
  };
}
