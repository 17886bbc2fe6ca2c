import { ActionIcon, Button, MultiSelect } from "@mantine/core";
import { IconPlus, IconX } from "@tabler/icons-react";
import { ChannelField } from "../channels/ChannelField";
import { errorAt, type FieldErrors } from "../jobForm/fieldErrors";
import { JOB_NEWS, newsWord } from "./newsWords";
import classes from "./Notifications.module.css";

export interface NotifyDraft {
  on: string[];
  to: string[];
}

interface NotifyFieldProps {
  entries: readonly NotifyDraft[];
  onChange: (entries: NotifyDraft[]) => void;
  errors: FieldErrors;
}

const NEWS = JOB_NEWS.map(({ word }) => ({ value: word, label: newsWord(word) }));
const MEANINGS = Object.fromEntries(JOB_NEWS.map(({ word, meaning }) => [word, meaning]));
const MOST = 20;

/** Which channels a job tells of what, in addition to what notification rules say. */
export function NotifyField({ entries, onChange, errors }: NotifyFieldProps) {
  const change = (place: number, changed: Partial<NotifyDraft>) => onChange(entries.map((entry, at) => (at === place ? { ...entry, ...changed } : entry)));
  return (
    <>
      <p className={classes.hint}>In addition to what notification rules say about all jobs, their tags and queues.</p>
      <div className={classes.entries}>
        {entries.map((entry, place) => (
          // oxlint-disable-next-line react/no-array-index-key -- an entry has no other name
          <div key={place} className={classes.entry}>
            <MultiSelect
              label="Told when it is"
              data={NEWS}
              value={entry.on}
              onChange={(on) => change(place, { on })}
              error={errorAt(errors, `notify[${place}].on`)}
              renderOption={({ option }) => (
                <span>
                  {option.label}
                  <span className={classes.silences}> · {MEANINGS[option.value]}</span>
                </span>
              )}
              searchable
              {...(entry.on.length === 0 ? { placeholder: "Choose what" } : {})}
            />
            <ChannelField label="To" value={entry.to} onChange={(to) => change(place, { to })} error={errorAt(errors, `notify[${place}].to`)} placeholder="Nobody" />
            <ActionIcon aria-label="Take this away" onClick={() => onChange(entries.filter((_, at) => at !== place))}>
              <IconX size={14} />
            </ActionIcon>
            {entry.to.length === 0 && <p className={classes.silences}>Without a channel it silences what rules would tell of this job.</p>}
          </div>
        ))}
      </div>
      {entries.length < MOST && (
        <Button
          variant="default"
          className={entries.length > 0 ? classes.more : undefined}
          leftSection={<IconPlus size={14} />}
          onClick={() => onChange([...entries, { on: ["failed", "recovered"], to: [] }])}
        >
          {entries.length > 0 ? "Tell others, too" : "Tell somebody"}
        </Button>
      )}
    </>
  );
}
