import { Radio, Select, SimpleGrid, Switch, TextInput } from "@mantine/core";
import { errorAt, type FieldErrors } from "../jobForm/fieldErrors";
import { ZONES } from "../jobForm/zones";
import { Card } from "../parts/Card";
import type { ChannelDraft } from "./channelDraft";
import { CHANNEL_KINDS, type ChannelKind, DIGESTS, SEVERITIES } from "./channelKinds";
import classes from "./Channels.module.css";
import { KindFields } from "./KindFields";

export interface ChannelFormProps {
  draft: ChannelDraft;
  onChange: (change: Partial<ChannelDraft>) => void;
  errors: FieldErrors;
  /** The name of a channel that exists stays: it is not asked for. */
  isNew: boolean;
}

/** All that defines a channel but its texts: what it is, where it leads, and when it is told. */
export function ChannelForm({ draft, onChange, errors, isNew }: ChannelFormProps) {
  return (
    <>
      <Card title="What">
        <KindChoice kind={draft.kind} onChange={(kind) => onChange({ kind, url: "" })} error={errorAt(errors, "kind")} />
      </Card>
      <Card title="Where">
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing={16} verticalSpacing={16}>
          {isNew && (
            <TextInput
              label="Name"
              description="By which jobs and rules refer to it."
              value={draft.name}
              onChange={(event) => onChange({ name: event.currentTarget.value })}
              error={errorAt(errors, "name")}
              maxLength={100}
              spellCheck={false}
            />
          )}
          <KindFields draft={draft} onChange={onChange} errors={errors} isNew={isNew} />
        </SimpleGrid>
      </Card>
      <Card title="When it is told">
        <WhenFields draft={draft} onChange={onChange} errors={errors} />
      </Card>
    </>
  );
}

function KindChoice({ kind, onChange, error }: { kind: ChannelKind; onChange: (kind: ChannelKind) => void; error: string | undefined }) {
  return (
    <Radio.Group aria-label="Kind" value={kind} onChange={(value) => onChange(value as ChannelKind)} error={error}>
      <div className={classes.kinds}>
        {Object.entries(CHANNEL_KINDS).map(([value, { label, meaning }]) => (
          <Radio.Card key={value} value={value} className={classes.kind} aria-label={label}>
            <Radio.Indicator size="xs" className={classes.dot} />
            <span>
              <span className={classes.kindName}>{label}</span>
              <span className={classes.meaning}>{meaning}</span>
            </span>
          </Radio.Card>
        ))}
      </div>
    </Radio.Group>
  );
}

function WhenFields({ draft, onChange, errors }: Omit<ChannelFormProps, "isNew">) {
  const text = (name: keyof ChannelDraft) => (event: { currentTarget: { value: string } }) => onChange({ [name]: event.currentTarget.value });
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing={16} verticalSpacing={16}>
        <Choice label="Of what" choices={SEVERITIES} value={draft.severity} onChange={(severity) => onChange({ severity })} error={errorAt(errors, "severity")} />
        <Choice label="How soon" choices={DIGESTS} value={draft.digest} onChange={(digest) => onChange({ digest })} error={errorAt(errors, "digest")} />
        <TextInput
          label="Together within"
          description="Facts of one cause within this time are one message; 0 tells each by itself."
          value={draft.window}
          onChange={text("window")}
          error={errorAt(errors, "window")}
          maxLength={40}
        />
        <TextInput
          label="Messages a minute"
          description="At most. What is above is gathered."
          inputMode="numeric"
          value={draft.rate}
          onChange={text("rate")}
          error={errorAt(errors, "rate")}
          maxLength={6}
        />
      </SimpleGrid>
      <Switch
        mt={16}
        label="Quiet hours"
        description="Nothing is told in them but what you except. The rest is told afterwards."
        checked={draft.isQuiet}
        onChange={(event) => onChange({ isQuiet: event.currentTarget.checked })}
      />
      {draft.isQuiet && (
        <SimpleGrid cols={{ base: 2, md: 4 }} spacing={16} verticalSpacing={16} mt={12}>
          <TextInput label="From" value={draft.quietFrom} onChange={text("quietFrom")} error={errorAt(errors, "quiet.from")} maxLength={5} />
          <TextInput label="To" value={draft.quietTo} onChange={text("quietTo")} error={errorAt(errors, "quiet.to")} maxLength={5} />
          <Select
            label="Time zone"
            data={ZONES}
            value={draft.quietZone}
            onChange={(zone) => onChange({ quietZone: zone ?? "UTC" })}
            searchable
            limit={100}
            error={errorAt(errors, "quiet.timezone")}
          />
          <Select
            label="Except"
            data={[
              { value: "error", label: "errors" },
              { value: "warning", label: "warnings and errors" },
              { value: "", label: "nothing" },
            ]}
            value={draft.quietExcept}
            onChange={(except) => onChange({ quietExcept: except ?? "" })}
            allowDeselect={false}
            error={errorAt(errors, "quiet.except")}
          />
        </SimpleGrid>
      )}
    </>
  );
}

interface ChoiceProps {
  label: string;
  choices: readonly { value: string; label: string; meaning: string }[];
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
