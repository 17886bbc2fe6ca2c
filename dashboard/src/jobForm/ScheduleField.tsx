import { Checkbox, Group, Select, Stack, TagsInput, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import { errorAt, type FieldErrors } from "./fieldErrors";
import type { JobDraft } from "./jobDraft";
import classes from "./JobForm.module.css";
import { BuilderInputs, ModeChoice } from "./ScheduleBuilder";
import { SchedulePreview } from "./SchedulePreview";
import { type BuilderChoices, type BuilderMode, FIRST_CHOICES, readSchedule, scheduleFor } from "./scheduleBuilder";
import { ZONES } from "./zones";

interface ScheduleFieldProps {
  draft: JobDraft;
  onChange: (change: Partial<JobDraft>) => void;
  errors: FieldErrors;
}

/** Builder and free text edit the same schedule; beside them stands what it means. */
export function ScheduleField({ draft, onChange, errors }: ScheduleFieldProps) {
  return (
    <div className={classes.schedule}>
      <Stack gap={12}>{draft.scheduleJson ? <AsJson draft={draft} onChange={onChange} errors={errors} /> : <AsText draft={draft} onChange={onChange} errors={errors} />}</Stack>
      <SchedulePreview draft={draft} />
    </div>
  );
}

function AsText({ draft, onChange, errors }: ScheduleFieldProps) {
  const read = readSchedule(draft.schedule);
  const [kept, setKept] = useState<BuilderChoices>(FIRST_CHOICES); // what other modes were set to
  const choices: BuilderChoices = { ...kept, ...read?.choices };
  const choose = (mode: BuilderMode, change: Partial<BuilderChoices> = {}) => {
    const next = { ...choices, ...change };
    setKept(next);
    onChange({ schedule: scheduleFor(mode, next) });
  };
  const recurs = read?.mode !== "now" && read?.mode !== "once";
  return (
    <>
      <ModeChoice mode={read?.mode ?? null} onChoose={(mode) => choose(mode)} />
      {read && <BuilderInputs mode={read.mode} choices={choices} onChange={(change) => choose(read.mode, change)} />}
      <TextInput
        label="In words, cron or as a time"
        description="every weekday at 9am · 0 9 * * MON · every 90s · in 10m · 2026-12-24T18:00 · RRULE:…"
        value={draft.schedule}
        placeholder="now"
        onChange={(event) => onChange({ schedule: event.currentTarget.value })}
        error={errorAt(errors, "schedule")}
        maxLength={500}
        spellCheck={false}
      />
      {read?.mode !== "now" && (
        <Select
          label="Time zone of the job"
          data={ZONES}
          value={draft.timezone}
          onChange={(zone) => onChange({ timezone: zone ?? "UTC" })}
          searchable
          limit={100}
          error={errorAt(errors, "timezone")}
        />
      )}
      {recurs && (
        <Group gap={12} align="flex-end" grow>
          <TagsInput
            label="Not on holidays of"
            placeholder={draft.holidays.length > 0 ? "" : "Countries, such as FR"}
            value={draft.holidays}
            onChange={(holidays) => onChange({ holidays: holidays.map((each) => each.toUpperCase()) })}
            maxTags={10}
            error={errorAt(errors, "schedule.exclude")}
          />
          <TextInput
            label="Spread by up to"
            placeholder="not at all"
            value={draft.jitter}
            onChange={(event) => onChange({ jitter: event.currentTarget.value })}
            error={errorAt(errors, "schedule.jitter")}
          />
        </Group>
      )}
      {recurs && (
        <Checkbox label="Not at weekends" checked={draft.weekendsOff} onChange={(event) => onChange({ weekendsOff: event.currentTarget.checked })} />
      )}
    </>
  );
}

function AsJson({ draft, onChange, errors }: ScheduleFieldProps) {
  return (
    <Textarea
      label="Schedule as JSON"
      description="It has parts that the builder does not know."
      value={draft.scheduleJson}
      onChange={(event) => onChange({ scheduleJson: event.currentTarget.value })}
      error={errorAt(errors, "schedule")}
      autosize
      minRows={4}
      maxRows={20}
      classNames={{ input: classes.code ?? "" }}
      spellCheck={false}
    />
  );
}
