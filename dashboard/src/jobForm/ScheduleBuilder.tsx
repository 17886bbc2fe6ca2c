import { Chip, Group, NumberInput, SegmentedControl, Select, Stack, TextInput } from "@mantine/core";
import classes from "./JobForm.module.css";
import { type BuilderChoices, type BuilderMode, ordinal, WEEKDAYS } from "./scheduleBuilder";

const MODES: { value: BuilderMode; label: string }[] = [
  { value: "now", label: "Now" },
  { value: "every", label: "Every" },
  { value: "daily", label: "Daily" },
  { value: "weekly", label: "Weekly" },
  { value: "monthly", label: "Monthly" },
  { value: "cron", label: "Cron" },
  { value: "once", label: "Once" },
];

/** `mode` is null while the text is in words of its own. */
export function ModeChoice({ mode, onChoose }: { mode: BuilderMode | null; onChoose: (mode: BuilderMode) => void }) {
  return (
    <div>
      <SegmentedControl aria-label="Kind of schedule" classNames={{ root: classes.wraps ?? "" }} data={MODES} value={mode ?? ""} onChange={(value) => onChoose(value as BuilderMode)} />
    </div>
  );
}

interface BuilderInputsProps {
  mode: BuilderMode;
  choices: BuilderChoices;
  onChange: (change: Partial<BuilderChoices>) => void;
}

export function BuilderInputs(props: BuilderInputsProps) {
  const { mode, choices, onChange } = props;
  switch (mode) {
    case "now":
      return null;
    case "every":
      return (
        <Group gap={8} align="flex-end">
          <NumberInput label="Every" min={1} max={9999} w={90} value={Number(choices.amount)} onChange={(amount) => onChange({ amount: String(amount || 1) })} allowDecimal={false} />
          <Select
            aria-label="Unit"
            w={120}
            allowDeselect={false}
            data={[
              { value: "s", label: "seconds" },
              { value: "m", label: "minutes" },
              { value: "h", label: "hours" },
              { value: "d", label: "days" },
            ]}
            value={choices.unit}
            onChange={(unit) => onChange({ unit: (unit ?? "m") as BuilderChoices["unit"] })}
          />
        </Group>
      );
    case "daily":
      return <Time {...props} />;
    case "weekly":
      return (
        <Stack gap={8}>
          <Weekdays {...props} />
          <Time {...props} />
        </Stack>
      );
    case "monthly":
      return (
        <Group gap={8} align="flex-end">
          <Select
            label="On the"
            w={110}
            allowDeselect={false}
            data={MONTH_DAYS}
            value={choices.monthDay}
            onChange={(monthDay) => onChange({ monthDay: monthDay ?? "1" })}
          />
          <Time {...props} />
        </Group>
      );
    case "cron":
      return <CronFields {...props} />;
    case "once":
      return <TextInput type="datetime-local" label="At" w={220} value={choices.at} onChange={(event) => onChange({ at: event.currentTarget.value })} />;
  }
}

const MONTH_DAYS = [
  ...Array.from({ length: 31 }, (_, index) => ({ value: String(index + 1), label: ordinal(index + 1) })),
  { value: "last", label: "last day" },
];

function Time({ choices, onChange }: BuilderInputsProps) {
  return <TextInput type="time" label="At" w={110} value={choices.time} onChange={(event) => onChange({ time: event.currentTarget.value || "09:00" })} />;
}

function Weekdays({ choices, onChange }: BuilderInputsProps) {
  return (
    <Chip.Group
      multiple
      value={choices.weekdays.map(String)}
      onChange={(days) => onChange({ weekdays: days.length > 0 ? days.map(Number) : choices.weekdays })}
    >
      <Group gap={4} role="group" aria-label="Days of the week">
        {WEEKDAYS.map((name, index) => (
          <Chip key={name} value={String(index + 1)} size="xs" variant="outline">
            {name.charAt(0).toUpperCase() + name.slice(1, 3)}
          </Chip>
        ))}
      </Group>
    </Chip.Group>
  );
}

const CRON_NAMES = ["Minute", "Hour", "Day", "Month", "Weekday"];

/** The five fields of an expression. Longer ones are edited as text. */
function CronFields({ choices, onChange }: BuilderInputsProps) {
  const parts = choices.cron.trim().split(/\s+/);
  if (parts.length !== CRON_NAMES.length) return null;
  const set = (place: number, text: string) => onChange({ cron: parts.map((part, each) => (each === place ? text.trim() || "*" : part)).join(" ") });
  return (
    <Group gap={8} wrap="nowrap">
      {CRON_NAMES.map((name, place) => (
        <TextInput key={name} label={name} value={parts[place] ?? "*"} onChange={(event) => set(place, event.currentTarget.value)} miw={0} spellCheck={false} />
      ))}
    </Group>
  );
}
