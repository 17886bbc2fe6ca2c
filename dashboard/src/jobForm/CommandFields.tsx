import { Group, Text, Textarea, TextInput } from "@mantine/core";
import { CodeBlock } from "../parts/CodeBlock";
import type { CommandDraft } from "./commandDraft";
import { errorAt, type FieldErrors } from "./fieldErrors";
import classes from "./JobForm.module.css";

interface CommandFieldsProps {
  draft: CommandDraft;
  onChange: (change: Partial<CommandDraft>) => void;
  errors: FieldErrors;
}

/** A program that a worker allows: what to run, with what, and within which limits. */
export function CommandFields({ draft, onChange, errors }: CommandFieldsProps) {
  const code = { classNames: { input: classes.code ?? "" }, spellCheck: false };
  const text = (name: keyof CommandDraft) => ({
    value: draft[name],
    onChange: (event: { currentTarget: { value: string } }) => onChange({ [name]: event.currentTarget.value }),
  });
  return (
    <>
      <TextInput
        label="Command"
        description="A program and its arguments. Quotes are understood, but there is no shell: no pipes, no variables."
        placeholder="backup-db --full"
        {...text("command")}
        {...code}
        error={errorAt(errors, "command")}
        withAsterisk
      />
      <div>
        <Text size="sm">It runs on a worker that allows its program:</Text>
        <CodeBlock code="tickwork worker --allow-command 'backup-*'" what="the command" />
      </div>
      <Textarea
        label="Environment"
        description="One a line, as NAME=value. Secret values are shown as ***."
        {...text("env")}
        {...code}
        error={errorAt(errors, "env")}
        autosize
        minRows={2}
      />
      <Group gap={8} align="flex-start" grow>
        <TextInput label="Folder" placeholder="/srv/backups" {...text("cwd")} error={errorAt(errors, "cwd")} spellCheck={false} />
        <TextInput label="Exit codes of success" {...text("successCodes")} error={errorAt(errors, "exit_codes.success")} />
        <TextInput label="Exit codes not to retry" placeholder="2, 64" {...text("finalCodes")} error={errorAt(errors, "exit_codes.final")} />
      </Group>
      <Textarea
        label="Standard input"
        description="Without one, the command reads the payload as JSON."
        {...text("stdin")}
        {...code}
        error={errorAt(errors, "stdin")}
        autosize
        minRows={2}
      />
      <Group gap={8} align="flex-start" grow>
        <TextInput label="Memory" placeholder="512Mi" {...text("maxMemory")} error={errorAt(errors, "process_limits.memory")} />
        <TextInput label="CPU time" placeholder="60s" {...text("maxCpuTime")} error={errorAt(errors, "process_limits.cpu_time")} />
        <TextInput label="Output" placeholder="100Mi" {...text("maxOutput")} error={errorAt(errors, "process_limits.output")} />
        <TextInput label="Open files" placeholder="256" {...text("maxFiles")} error={errorAt(errors, "process_limits.files")} />
      </Group>
    </>
  );
}
