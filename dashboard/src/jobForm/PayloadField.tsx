import { NumberInput, SegmentedControl, Select, SimpleGrid, Switch, TagsInput, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import { errorAt, type FieldErrors } from "./fieldErrors";
import classes from "./JobForm.module.css";
import { fieldsOf, missingFields, type SchemaField, withField } from "./schemaFields";

interface PayloadFieldProps {
  label: string;
  /** The JSON Schema of the task's parameters, if a worker has told it. */
  schema: unknown;
  /** JSON; empty means none. */
  value: string;
  onChange: (payload: string) => void;
  errors: FieldErrors;
}

/** A form made from the task's parameters, and the same as JSON. What is nested has an editor of its own. */
export function PayloadField({ label, schema, value, onChange, errors }: PayloadFieldProps) {
  const fields = fieldsOf(schema);
  const parsed = parse(value);
  const [asJson, setAsJson] = useState(false);
  const canForm = fields !== null && fields.length > 0 && parsed.ok && isPlainObject(parsed.value ?? {});
  if (fields?.length === 0 && isNothing(parsed)) return <p className={classes.hint}>This task has no parameters.</p>;
  const switcher = fields !== null && fields.length > 0 && (
    <SegmentedControl
      size="xs"
      aria-label="How to write the payload"
      data={["Form", "JSON"]}
      value={canForm && !asJson ? "Form" : "JSON"}
      onChange={(mode) => setAsJson(mode === "JSON")}
      disabled={!canForm}
    />
  );
  return (
    <fieldset className={classes.fieldset}>
      <legend className={classes.legend}>
        <span>{label}</span>
        {switcher}
      </legend>
      {canForm && !asJson ? (
        <Form fields={fields} payload={parsed.value} onChange={(payload) => onChange(textOf(payload))} errors={errors} />
      ) : (
        <JsonEditor isAlone label={label} value={value} onChange={onChange} error={errorAt(errors, "payload") ?? (parsed.ok ? undefined : parsed.error)} />
      )}
    </fieldset>
  );
}

interface FormProps {
  fields: readonly SchemaField[];
  payload: unknown;
  onChange: (payload: Record<string, unknown>) => void;
  errors: FieldErrors;
}

function Form({ fields, payload, onChange, errors }: FormProps) {
  const missing = missingFields(fields, payload);
  const given = (payload ?? {}) as Record<string, unknown>;
  const others = errorAt(errors, "payload");
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing={12} verticalSpacing={12}>
        {fields.map((field) => (
          <Input
            key={field.name}
            field={field}
            value={given[field.name]}
            onChange={(value) => onChange(withField(payload, field.name, value))}
            error={errorAt(errors, `payload.${field.name}`)}
          />
        ))}
      </SimpleGrid>
      {others && <p className={classes.error}>{others}</p>}
      {missing.length > 0 && <p className={classes.hint}>Still needed: {missing.join(", ")}</p>}
    </>
  );
}

interface InputProps {
  field: SchemaField;
  value: unknown;
  onChange: (value: unknown) => void;
  error: string | undefined;
}

function Input({ field, value, onChange, error }: InputProps) {
  const fallback = field.fallback === undefined || field.fallback === null ? "" : String(field.fallback);
  const shared = {
    label: field.name,
    ...(field.description ? { description: field.description } : {}),
    withAsterisk: field.required,
    placeholder: fallback,
    error,
  };
  const text = (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value === "" ? undefined : event.currentTarget.value);
  switch (field.kind) {
    case "boolean":
      return (
        <Switch
          label={field.name}
          description={field.description}
          checked={Boolean(value ?? field.fallback)}
          onChange={(event) => onChange(event.currentTarget.checked)}
          error={error}
          mt={20}
        />
      );
    case "integer":
    case "number":
      return (
        <NumberInput
          {...shared}
          allowDecimal={field.kind === "number"}
          value={typeof value === "number" ? value : ""}
          onChange={(number) => onChange(number === "" ? undefined : Number(number))}
          {...(field.minimum === undefined ? {} : { min: field.minimum })}
          {...(field.maximum === undefined ? {} : { max: field.maximum })}
        />
      );
    case "choice":
      return <Select {...shared} data={field.choices ?? []} value={typeof value === "string" ? value : null} onChange={(chosen) => onChange(chosen ?? undefined)} clearable={!field.required} />;
    case "list":
      return <TagsInput {...shared} value={Array.isArray(value) ? (value as string[]) : []} onChange={(list) => onChange(list.length > 0 ? list : undefined)} />;
    case "date":
      return <TextInput {...shared} type="date" value={typeof value === "string" ? value : ""} onChange={text} />;
    case "date-time":
      return <TextInput {...shared} placeholder="2026-12-24T18:00:00Z" value={typeof value === "string" ? value : ""} onChange={text} />;
    case "text":
      return <TextInput {...shared} value={typeof value === "string" ? value : ""} onChange={text} />;
    case "json":
      return <NestedJson {...shared} value={value} onChange={onChange} error={error} />;
  }
}

/** Keeps what is typed until it is JSON: only then the payload changes. */
function NestedJson({ value, onChange, error, ...shared }: { label: string; value: unknown; onChange: (value: unknown) => void; error: string | undefined }) {
  const [text, setText] = useState(() => (value === undefined ? "" : JSON.stringify(value, null, 2)));
  const parsed = parse(text);
  return (
    <JsonEditor
      {...shared}
      value={text}
      onChange={(next) => {
        setText(next);
        const read = parse(next);
        if (read.ok) onChange(read.value);
      }}
      error={error ?? (parsed.ok ? undefined : parsed.error)}
    />
  );
}

interface JsonEditorProps {
  label: string;
  description?: string;
  placeholder?: string;
  value: string;
  onChange: (text: string) => void;
  error: string | undefined;
  /** The field around it shows the label already. */
  isAlone?: boolean;
}

function JsonEditor({ value, onChange, isAlone, label, ...shared }: JsonEditorProps) {
  const tidy = () => {
    const parsed = parse(value);
    if (parsed.ok && value.trim()) onChange(JSON.stringify(parsed.value, null, 2));
  };
  return (
    <Textarea
      {...shared}
      {...(isAlone ? { "aria-label": label } : { label })}
      placeholder={shared.placeholder ?? '{"name": "value"}'}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      onBlur={tidy}
      autosize
      minRows={3}
      maxRows={24}
      classNames={{ input: classes.code ?? "" }}
      spellCheck={false}
    />
  );
}

type Parsed = { ok: true; value: unknown } | { ok: false; error: string };

function parse(text: string): Parsed {
  if (text.trim() === "") return { ok: true, value: undefined };
  try {
    return { ok: true, value: JSON.parse(text) as unknown };
  } catch (error) {
    return { ok: false, error: `Not JSON yet: ${(error as Error).message}` };
  }
}

function textOf(payload: Record<string, unknown>): string {
  return Object.keys(payload).length === 0 ? "" : JSON.stringify(payload, null, 2);
}

function isNothing(parsed: Parsed): boolean {
  return parsed.ok && (parsed.value === undefined || JSON.stringify(parsed.value) === "{}");
}

function isPlainObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
