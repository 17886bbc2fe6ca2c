import { MultiSelect, Select, SimpleGrid, Stack, Textarea, TextInput } from "@mantine/core";
import { ChannelField } from "../channels/ChannelField";
import { errorAt, type FieldErrors } from "../jobForm/fieldErrors";
import classes from "../jobForm/JobForm.module.css";
import type { JobDraft } from "../jobForm/jobDraft";
import { SchedulePreview } from "../jobForm/SchedulePreview";
import { ZONES } from "../jobForm/zones";
import { Card } from "../parts/Card";
import { PING_KINDS, type PingDraft } from "./pingDraft";

interface PingFormProps {
  draft: PingDraft;
  onChange: (change: Partial<PingDraft>) => void;
  errors: FieldErrors;
  /** The name of a ping that exists stays: it is not asked for. */
  isNew: boolean;
}

/** All that defines a ping: what it is called, when it is expected, and who is told. */
export function PingForm({ draft, onChange, errors, isNew }: PingFormProps) {
  return (
    <>
      <Card title="What">
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing={16} verticalSpacing={16}>
          {isNew && (
            <TextInput
              label="Name"
              description="Letters, digits, dots, dashes and underscores."
              value={draft.name}
              onChange={(event) => onChange({ name: event.currentTarget.value })}
              error={errorAt(errors, "name")}
              maxLength={100}
              spellCheck={false}
            />
          )}
          <Textarea
            label="Description"
            description="What it is, and where it runs."
            value={draft.description}
            onChange={(event) => onChange({ description: event.currentTarget.value })}
            error={errorAt(errors, "description")}
            autosize
            minRows={1}
            maxRows={6}
            maxLength={2000}
          />
        </SimpleGrid>
      </Card>
      <Card title="When it is expected">
        <When draft={draft} onChange={onChange} errors={errors} />
      </Card>
      <Card title="Who is told">
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing={16} verticalSpacing={16}>
          <ChannelField
            label="Channels"
            description="None: it is only shown here."
            value={draft.channels}
            onChange={(channels) => onChange({ channels })}
            error={errorAt(errors, "notify")}
          />
          <MultiSelect label="When it is" description="Of what they are told." data={[...PING_KINDS]} value={draft.kinds} onChange={(kinds) => onChange({ kinds })} />
        </SimpleGrid>
      </Card>
    </>
  );
}

function When({ draft, onChange, errors }: Omit<PingFormProps, "isNew">) {
  const change = (changed: Partial<JobDraft>) => onChange({ when: { ...draft.when, ...changed } });
  return (
    <div className={classes.schedule}>
      <Stack gap={12}>
        {draft.when.scheduleJson ? (
          <Textarea
            label="Schedule as JSON"
            value={draft.when.scheduleJson}
            onChange={(event) => change({ scheduleJson: event.currentTarget.value })}
            error={errorAt(errors, "schedule")}
            autosize
            minRows={4}
            maxRows={20}
            classNames={{ input: classes.code ?? "" }}
            spellCheck={false}
          />
        ) : (
          <>
            <TextInput
              label="In words or as cron"
              description="every day at 02:00 · 0 2 * * * · every 1h (counted from the run before)"
              value={draft.when.schedule}
              onChange={(event) => change({ schedule: event.currentTarget.value })}
              error={errorAt(errors, "schedule")}
              maxLength={500}
              spellCheck={false}
            />
            <Select
              label="Time zone"
              data={ZONES}
              value={draft.when.timezone}
              onChange={(zone) => change({ timezone: zone ?? "UTC" })}
              searchable
              limit={100}
              error={errorAt(errors, "timezone")}
            />
          </>
        )}
        <TextInput
          label="Grace"
          description="It is missing if it has not succeeded this long after it was due."
          value={draft.grace}
          onChange={(event) => onChange({ grace: event.currentTarget.value })}
          error={errorAt(errors, "grace")}
          maxLength={40}
        />
      </Stack>
      {(draft.when.schedule.trim() || draft.when.scheduleJson) && <SchedulePreview draft={draft.when} showsLoad={false} />}
    </div>
  );
}
