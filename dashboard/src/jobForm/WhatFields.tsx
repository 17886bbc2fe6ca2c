import { Autocomplete, Checkbox, Group, SegmentedControl, Select, Stack, Text, Textarea, TextInput } from "@mantine/core";
import type { Schemas } from "../api/client";
import { CodeBlock } from "../parts/CodeBlock";
import { CommandFields } from "./CommandFields";
import { errorAt, type FieldErrors } from "./fieldErrors";
import type { JobDraft } from "./jobDraft";
import classes from "./JobForm.module.css";
import { PayloadField } from "./PayloadField";

interface WhatFieldsProps {
  draft: JobDraft;
  onChange: (change: Partial<JobDraft>) => void;
  errors: FieldErrors;
  tasks: readonly Schemas["TaskView"][] | undefined;
}

/** What runs: a task that workers offer, an HTTP call, or a command. */
export function WhatFields({ draft, onChange, errors, tasks }: WhatFieldsProps) {
  return (
    <Stack gap={16}>
      <TextInput
        label="Name"
        value={draft.name}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
        error={errorAt(errors, "name")}
        maxLength={200}
        maw={480}
      />
      <SegmentedControl
        aria-label="What runs"
        w="fit-content"
        maw="100%"
        data={[
          { value: "task", label: "A task" },
          { value: "http", label: "An HTTP call" },
          { value: "command", label: "A command" },
        ]}
        value={draft.kind}
        onChange={(kind) => onChange({ kind: kind as JobDraft["kind"] })}
      />
      {draft.kind === "task" && <TaskFields draft={draft} onChange={onChange} errors={errors} tasks={tasks} />}
      {draft.kind === "http" && <HttpFields draft={draft} onChange={onChange} errors={errors} tasks={tasks} />}
      {draft.kind === "command" && (
        <>
          <CommandFields draft={draft} onChange={onChange} errors={errors} />
          <PayloadField label="Payload" schema={null} value={draft.payload} onChange={(payload) => onChange({ payload })} errors={errors} />
        </>
      )}
    </Stack>
  );
}

function TaskFields({ draft, onChange, errors, tasks }: WhatFieldsProps) {
  const task = tasks?.find(({ name }) => name === draft.task);
  return (
    <>
      <Autocomplete
        label="Task"
        description={task?.description ?? undefined}
        placeholder="reports.weekly"
        data={(tasks ?? []).map(({ name }) => name)}
        value={draft.task}
        onChange={(name) => onChange({ task: name })}
        error={errorAt(errors, "task")}
        withAsterisk
        maw={480}
        limit={50}
      />
      <Offered task={task} name={draft.task} known={tasks} />
      {((tasks && !task && draft.task) || draft.awaitsTask) && (
        <Checkbox
          label="Create it although nobody has offered the task yet"
          description="It waits for a worker, and its parameters are checked when the task is known."
          checked={draft.awaitsTask}
          onChange={(event) => onChange({ awaitsTask: event.currentTarget.checked })}
        />
      )}
      <PayloadField
        key={task?.name ?? ""}
        label="Parameters"
        schema={task?.parameters ?? null}
        value={draft.payload}
        onChange={(payload) => onChange({ payload })}
        errors={errors}
      />
    </>
  );
}

/** Who runs the task now: a job whose task nobody offers waits. */
function Offered({ task, name, known }: { task: Schemas["TaskView"] | undefined; name: string; known: WhatFieldsProps["tasks"] }) {
  if (!known) return null;
  if (known.length === 0) {
    return (
      <div>
        <Text size="sm">No worker offers a task yet. Start one, and its tasks show here:</Text>
        <CodeBlock code="tickwork worker tasks:app" what="the command" />
      </div>
    );
  }
  if (!name) return null;
  if (!task) return <p className={classes.hint}>Nobody has offered or declared this task.</p>;
  if (task.state === "retired") return <p className={classes.hint}>The task is retired{task.replacement ? `: use ${task.replacement}` : " and gets no new jobs"}.</p>;
  if (task.state === "disabled") return <p className={classes.hint}>The task is disabled: the job waits until it is enabled.</p>;
  const count = task.workers.length;
  return (
    <p className={classes.hint}>
      {count > 0 ? `${count} ${count === 1 ? "worker offers" : "workers offer"} it now.` : "No worker offers it now: the job waits until one does."}
    </p>
  );
}

const COMPLETIONS = [
  { value: "answer", label: "with the answer" },
  { value: "callback", label: "when the target reports it, if the answer is 202" },
  { value: "poll", label: "when its status URL says so, if the answer is 202" },
];
const METHODS = ["POST", "GET", "PUT", "PATCH", "DELETE", "HEAD"];

function HttpFields({ draft, onChange, errors }: WhatFieldsProps) {
  return (
    <>
      <Group gap={8} align="flex-start" wrap="nowrap">
        <Select label="Method" w={100} data={METHODS} value={draft.method} onChange={(method) => onChange({ method: method ?? "POST" })} allowDeselect={false} error={errorAt(errors, "http.method")} />
        <TextInput
          label="URL"
          placeholder="https://example.org/hook"
          value={draft.url}
          onChange={(event) => onChange({ url: event.currentTarget.value })}
          error={errorAt(errors, "http.url")}
          withAsterisk
          flex={1}
          miw={0}
          spellCheck={false}
        />
      </Group>
      <Select
        label="Completes"
        data={COMPLETIONS}
        value={draft.completion}
        onChange={(completion) => onChange({ completion: completion ?? "answer" })}
        allowDeselect={false}
        error={errorAt(errors, "http.completion")}
      />
      {draft.completion === "callback" && (
        <TextInput
          label="It reports at least every"
          placeholder="5m"
          description="Without it, the target need not report before the end."
          value={draft.heartbeat}
          onChange={(event) => onChange({ heartbeat: event.currentTarget.value })}
          error={errorAt(errors, "http.heartbeat")}
        />
      )}
      {draft.completion === "poll" && (
        <TextInput
          label="Asked every"
          description="A duration, or JSON with url_from, every and until."
          value={draft.poll}
          onChange={(event) => onChange({ poll: event.currentTarget.value })}
          error={errorAt(errors, "http.poll")}
          spellCheck={false}
        />
      )}
      <Checkbox label="Send the results of the jobs it depends on" checked={draft.sendParents} onChange={(event) => onChange({ sendParents: event.currentTarget.checked })} />
      <Textarea
        label="Headers"
        description="One a line, as Name: value. Values of secret headers are shown as ***."
        value={draft.headers}
        onChange={(event) => onChange({ headers: event.currentTarget.value })}
        error={errorAt(errors, "http.headers")}
        autosize
        minRows={2}
        classNames={{ input: classes.code ?? "" }}
        spellCheck={false}
      />
      <PayloadField label="Body" schema={null} value={draft.payload} onChange={(payload) => onChange({ payload })} errors={errors} />
    </>
  );
}
