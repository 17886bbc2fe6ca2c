import { Autocomplete, Select, SimpleGrid, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { answer, api, type Schemas } from "../api/client";
import { errorAt, type FieldErrors } from "./fieldErrors";
import type { JobDraft } from "./jobDraft";
import classes from "./JobForm.module.css";
import { BACKOFF, CATCH_UP, ON_WORKER_LOST, OVERLAP, PRIORITY, type PolicyChoice, retryWords } from "./policyWords";

interface PolicyFieldsProps {
  draft: JobDraft;
  onChange: (change: Partial<JobDraft>) => void;
  errors: FieldErrors;
  /** The task that is chosen: what it gives to its jobs. */
  task: Schemas["TaskView"] | undefined;
}

/** How a job runs. Each choice says what it means where it is chosen. */
export function PolicyFields({ draft, onChange, errors, task }: PolicyFieldsProps) {
  const defaults = (task?.defaults ?? {}) as { queue?: string; priority?: string; timeout?: string | number; retry?: { max_attempts?: number } };
  const queues = useQuery({
    queryKey: ["queues", "names"],
    queryFn: async () => (await answer(api.GET("/v1/queues", { params: { query: { limit: 200 } as never } }))).items.map(({ name }) => name),
    staleTime: 60_000,
  });
  const text = (name: keyof JobDraft) => (event: { currentTarget: { value: string } }) => onChange({ [name]: event.currentTarget.value });
  const pick = (name: keyof JobDraft) => (value: string) => onChange({ [name]: value });
  const attempts = Number(draft.maxAttempts || defaults.retry?.max_attempts || 4);
  return (
    <SimpleGrid className={classes.aligned ?? ""} cols={{ base: 1, sm: 2, lg: 3 }} spacing={16} verticalSpacing={16}>
      <Choice label="When the earlier run has not ended" choices={OVERLAP} value={draft.overlap} onChange={pick("overlap")} error={errorAt(errors, "overlap")} />
      <Choice label="Due times that were missed" choices={CATCH_UP} value={draft.catchUp} onChange={pick("catchUp")} error={errorAt(errors, "catch_up")} />
      {draft.catchUp !== "skip" && (
        <TextInput
          label="Only those missed within"
          description="Older ones are recorded as missed."
          value={draft.catchUpWithin}
          onChange={text("catchUpWithin")}
          error={errorAt(errors, "catch_up.within")}
        />
      )}
      {draft.catchUp === "all" && (
        <TextInput label="And at most" description="Runs that are made up for." value={draft.catchUpMax} onChange={text("catchUpMax")} error={errorAt(errors, "catch_up.max")} />
      )}
      <TextInput
        label="Attempts"
        description={retryWords(attempts, draft.backoff, draft.initial || "1s", draft.maxDelay || "1h")}
        inputMode="numeric"
        placeholder={String(defaults.retry?.max_attempts ?? 4)}
        value={draft.maxAttempts}
        onChange={text("maxAttempts")}
        error={errorAt(errors, "retry.max_attempts")}
      />
      <Choice label="Waits between attempts" choices={BACKOFF} value={draft.backoff} onChange={pick("backoff")} error={errorAt(errors, "retry.backoff")} />
      <TextInput label="First wait" description="Before the second attempt." value={draft.initial} onChange={text("initial")} error={errorAt(errors, "retry.initial")} />
      <TextInput label="Longest wait" description="Waits do not grow beyond it." value={draft.maxDelay} onChange={text("maxDelay")} error={errorAt(errors, "retry.max")} />
      <TextInput
        label="Timeout of an attempt"
        description="Then it is stopped and counts as failed."
        placeholder={String(defaults.timeout ?? "5m")}
        value={draft.timeout}
        onChange={text("timeout")}
        error={errorAt(errors, "timeout")}
      />
      <TextInput
        label="Warn after"
        description="An attempt that runs for longer is news while it does."
        placeholder="5m"
        value={draft.warnAfter}
        onChange={text("warnAfter")}
        error={errorAt(errors, "warn_after")}
      />
      <TextInput
        label="Start within"
        description="What has not started so long after its due time is skipped."
        placeholder="no limit"
        value={draft.startWithin}
        onChange={text("startWithin")}
        error={errorAt(errors, "start_within")}
      />
      <TextInput
        label="Deadline"
        description="By when it should have ended. The earliest starts first."
        placeholder="06:00, or 30m after the due time"
        value={draft.deadline}
        onChange={text("deadline")}
        error={errorAt(errors, "deadline")}
      />
      <Choice
        label="Priority"
        choices={PRIORITY}
        value={draft.priority || defaults.priority || "normal"}
        onChange={pick("priority")}
        error={errorAt(errors, "priority")}
      />
      <Autocomplete
        label="Queue"
        description="Queues can be paused and limited; workers choose which they serve."
        placeholder={defaults.queue ?? "default"}
        data={queues.data ?? []}
        value={draft.queue}
        onChange={(queue) => onChange({ queue })}
        error={errorAt(errors, "queue")}
      />
      <TextInput
        label="Keep executions for"
        description="After their end. They are never kept for longer than the installation keeps history."
        placeholder="as its queue says"
        value={draft.keepFor}
        onChange={text("keepFor")}
        error={errorAt(errors, "retention.age") ?? errorAt(errors, "retention")}
      />
      <TextInput
        label="Keep at most"
        description="The latest executions that have ended."
        inputMode="numeric"
        placeholder="as its queue says"
        value={draft.keepLast}
        onChange={text("keepLast")}
        error={errorAt(errors, "retention.last")}
      />
      <Choice label="When its worker is lost" choices={ON_WORKER_LOST} value={draft.onWorkerLost} onChange={pick("onWorkerLost")} error={errorAt(errors, "on_worker_lost")} />
    </SimpleGrid>
  );
}

interface ChoiceProps {
  label: string;
  choices: readonly PolicyChoice[];
  value: string;
  onChange: (value: string) => void;
  error: string | undefined;
}

function Choice({ label, choices, value, onChange, error }: ChoiceProps) {
  return (
    <Select
      label={label}
      description={choices.find((each) => each.value === value)?.meaning}
      data={choices.map(({ value: each, label: word }) => ({ value: each, label: word }))}
      value={value}
      onChange={(chosen) => onChange(chosen ?? value)}
      allowDeselect={false}
      error={error}
    />
  );
}
