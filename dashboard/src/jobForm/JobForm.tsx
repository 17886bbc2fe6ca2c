import { SimpleGrid, TagsInput, Textarea, TextInput } from "@mantine/core";
import { NotifyField } from "../notifications/NotifyField";
import { Card } from "../parts/Card";
import { errorAt, type FieldErrors } from "./fieldErrors";
import type { JobDraft } from "./jobDraft";
import classes from "./JobForm.module.css";
import { PolicyFields } from "./PolicyFields";
import { ScheduleField } from "./ScheduleField";
import { useTasks } from "./useTasks";
import { WhatFields } from "./WhatFields";

interface JobFormProps {
  draft: JobDraft;
  onChange: (change: Partial<JobDraft>) => void;
  errors: FieldErrors;
  /** Below the fields of what runs. */
  tryOut?: React.ReactNode;
}

/** All that defines a job: what, when, how, and for whom. */
export function JobForm({ draft, onChange, errors, tryOut }: JobFormProps) {
  const tasks = useTasks();
  const task = draft.kind === "task" ? tasks.data?.find(({ name }) => name === draft.task) : undefined;
  return (
    <>
      <Card title="What">
        <WhatFields draft={draft} onChange={onChange} errors={errors} tasks={tasks.data} />
        {tryOut}
      </Card>
      <Card title="When">
        <ScheduleField draft={draft} onChange={onChange} errors={errors} />
      </Card>
      <Card title="How">
        <PolicyFields draft={draft} onChange={onChange} errors={errors} task={task} />
      </Card>
      <Card title="For whom">
        <AboutFields draft={draft} onChange={onChange} errors={errors} />
      </Card>
      <Card title="Who is told">
        <NotifyField entries={draft.notify} onChange={(notify) => onChange({ notify })} errors={errors} />
      </Card>
    </>
  );
}

function AboutFields({ draft, onChange, errors }: JobFormProps) {
  const text = (name: keyof JobDraft) => (event: { currentTarget: { value: string } }) => onChange({ [name]: event.currentTarget.value });
  return (
    <SimpleGrid className={classes.aligned ?? ""} cols={{ base: 1, sm: 2, lg: 3 }} spacing={16} verticalSpacing={16}>
      <TextInput label="Owner" description="A team or a person." value={draft.owner} onChange={text("owner")} error={errorAt(errors, "owner")} maxLength={200} />
      <TagsInput label="Tags" description="To find and change jobs together." value={draft.tags} onChange={(tags) => onChange({ tags })} maxTags={50} error={errorAt(errors, "tags")} />
      <TextInput label="Key" description="Your own name for it; only one job has a given key." value={draft.key} onChange={text("key")} error={errorAt(errors, "key")} maxLength={200} />
      <TagsInput
        label="Runs after"
        description="Ids or key:NAME of jobs; with :failure, if they fail; with :any, however they end."
        value={draft.dependsOn}
        onChange={(dependsOn) => onChange({ dependsOn })}
        error={errorAt(errors, "depends_on")}
      />
      <TextInput
        label="Heartbeat URL"
        description="Called by GET after each success, for whoever watches."
        value={draft.heartbeatUrl}
        onChange={text("heartbeatUrl")}
        error={errorAt(errors, "heartbeat_url")}
        maxLength={2048}
        spellCheck={false}
      />
      <Textarea label="Description" description="What it is for." value={draft.description} onChange={text("description")} error={errorAt(errors, "description")} autosize minRows={1} maxRows={6} maxLength={2000} />
    </SimpleGrid>
  );
}
