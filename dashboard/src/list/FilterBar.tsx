import { Button, Select, TextInput } from "@mantine/core";
import { IconFilter, IconSearch, IconX } from "@tabler/icons-react";
import { useEffect, useEffectEvent, useState } from "react";
import classes from "./FilterBar.module.css";

export interface FilterField {
  /** The name in the address, and of the API's parameter. */
  name: string;
  label: string;
  /** "search" is where `/` leads; "text" for exact names; "choice" for one of a few. */
  kind: "search" | "text" | "choice";
  options?: readonly (string | { value: string; label: string })[];
  placeholder?: string;
  width?: number;
}

export type Filters = Partial<Record<string, string>>;

interface FilterBarProps {
  fields: readonly FilterField[];
  /** From the address: `Route.useSearch()`. */
  value: Filters;
  /** Puts what changed into the address: undefined takes a filter away. */
  onChange: (change: Record<string, string | undefined>) => void;
  /** At the right. */
  children?: React.ReactNode;
}

const FEW = 2; // so many fit a phone beside the search

/** Filters whose state is the address, so that every view can be shared and kept. */
export function FilterBar({ fields, value, onChange, children }: FilterBarProps) {
  const active = fields.filter(({ name }) => value[name]);
  const [opened, setOpened] = useState(false);
  const folded = fields.filter(({ kind }) => kind !== "search");
  const foldedActive = folded.filter(({ name }) => value[name]).length;
  const clear = () => onChange(Object.fromEntries(active.map(({ name }) => [name, undefined])));
  return (
    <search className={classes.bar} data-opened={opened || undefined}>
      {fields.map((field) => (
        <Field key={field.name} field={field} value={value[field.name]} onChange={(text) => onChange({ [field.name]: text })} />
      ))}
      {folded.length > FEW && (
        <Button
          variant="default"
          className={classes.unfold}
          leftSection={<IconFilter size={14} />}
          aria-expanded={opened}
          onClick={() => setOpened(!opened)}
        >
          {foldedActive > 0 ? `Filters: ${foldedActive}` : "Filters"}
        </Button>
      )}
      {active.length > 0 && (
        <Button variant="subtle" color="gray" leftSection={<IconX size={14} />} onClick={clear}>
          Clear
        </Button>
      )}
      {children && <div className={classes.end}>{children}</div>}
    </search>
  );
}

interface FieldProps {
  field: FilterField;
  value: string | undefined;
  onChange: (text: string | undefined) => void;
}

function Field({ field, value, onChange }: FieldProps) {
  if (field.kind !== "choice") return <TextField field={field} value={value} onChange={onChange} />;
  return (
    <Select
      aria-label={field.label}
      placeholder={field.placeholder ?? field.label}
      data={[...(field.options ?? [])]}
      value={value ?? null}
      onChange={(chosen) => onChange(chosen ?? undefined)}
      clearable
      clearButtonProps={{ "aria-label": `Clear ${field.label}` }}
      w={field.width ?? 140}
      wrapperProps={{ "data-folds": true }}
      data-active={Boolean(value) || undefined}
    />
  );
}

const TYPING_PAUSE = 250; // milliseconds

function TextField({ field, value, onChange }: FieldProps) {
  const [text, setText] = useState(value ?? "");
  const [sent, setSent] = useState(text);
  const [seen, setSeen] = useState(value);
  if (seen !== value) {
    setSeen(value);
    if ((value ?? "") !== sent) setText(value ?? ""); // back, forward or Clear changed the address
  }
  const send = useEffectEvent(() => {
    setSent(text);
    onChange(text || undefined);
  });
  useEffect(() => {
    if (text === (value ?? "")) return undefined;
    const timer = setTimeout(send, TYPING_PAUSE);
    return () => clearTimeout(timer);
  }, [text, value]);
  const isSearch = field.kind === "search";
  return (
    <TextInput
      type="search"
      aria-label={field.label}
      placeholder={field.placeholder ?? field.label}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      leftSection={isSearch ? <IconSearch size={14} /> : undefined}
      w={field.width ?? (isSearch ? 260 : 140)}
      maw="100%"
      {...(isSearch ? { "data-page-search": true } : {})}
      {...(isSearch ? {} : { wrapperProps: { "data-folds": true } })}
      maxLength={200}
      autoComplete="off"
      spellCheck={false}
    />
  );
}
