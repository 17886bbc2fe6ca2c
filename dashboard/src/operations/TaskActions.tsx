import { Button, Group, Modal, Radio, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { answer, api, type Schemas } from "../api/client";
import { Problem } from "../parts/Problem";
import { useAction } from "../parts/useAction";

type Task = Schemas["TaskView"];

const at = (name: string) => ({ params: { path: { name } } });
const enable = (name: string) => answer(api.POST("/v1/tasks/{name}/enable", at(name)));
const takeBack = (name: string) => answer(api.POST("/v1/tasks/{name}/retire", { ...at(name), body: { undo: true } as never }));

/** Disables a task, enables it, retires it and takes it back. */
export function TaskActions({ task }: { task: Task }) {
  const [asks, setAsks] = useState<"disable" | "retire" | null>(null);
  const enabling = useAction({ act: enable, done: (name) => `The task ${name} goes on`, changes: ["tasks", "executions"] });
  const takingBack = useAction({ act: takeBack, done: (name) => `The task ${name} gets new jobs again`, changes: ["tasks"] });
  const close = () => setAsks(null);
  return (
    <Group gap={6} wrap="nowrap">
      {task.disabled_at ? (
        <Small loading={enabling.isPending} onClick={() => enabling.mutate(task.name)} word="Enable" />
      ) : (
        <Small onClick={() => setAsks("disable")} word="Disable" />
      )}
      {task.retired_at ? (
        <Small loading={takingBack.isPending} onClick={() => takingBack.mutate(task.name)} word="Take back" />
      ) : (
        <Small onClick={() => setAsks("retire")} word="Retire" />
      )}
      {asks === "disable" && <DisableTask name={task.name} onClose={close} />}
      {asks === "retire" && <RetireTask name={task.name} onClose={close} />}
    </Group>
  );
}

function Small({ word, ...button }: { word: string; loading?: boolean; onClick: () => void }) {
  return (
    <Button size="compact-xs" variant="default" {...button}>
      {word}
    </Button>
  );
}

function DisableTask({ name, onClose }: { name: string; onClose: () => void }) {
  const [reason, setReason] = useState("");
  const disabling = useAction({
    act: () => answer(api.POST("/v1/tasks/{name}/disable", { ...at(name), body: (reason.trim() ? { reason: reason.trim() } : {}) as never })),
    done: () => `The task ${name} is disabled`,
    changes: ["tasks", "executions"],
  });
  return (
    <Modal opened onClose={onClose} title={`Disable the task ${name}`} closeButtonProps={{ "aria-label": "Close" }}>
      <Text mb="sm">What workers have goes on. Everything else of it waits until the task is enabled, and says so.</Text>
      <TextInput label="Why" value={reason} onChange={(event) => setReason(event.currentTarget.value)} maxLength={1000} data-autofocus />
      {Boolean(disabling.error) && <Problem error={disabling.error} />}
      <Group justify="flex-end" mt="lg">
        <Button variant="default" onClick={onClose}>
          Let it run
        </Button>
        <Button loading={disabling.isPending} onClick={() => disabling.mutate(undefined, { onSuccess: onClose })}>
          Disable the task
        </Button>
      </Group>
    </Modal>
  );
}

function RetireTask({ name, onClose }: { name: string; onClose: () => void }) {
  const [replacement, setReplacement] = useState("");
  const [jobs, setJobs] = useState("keep");
  const retiring = useAction({
    act: () =>
      answer(api.POST("/v1/tasks/{name}/retire", { ...at(name), body: { jobs, ...(replacement.trim() ? { replacement: replacement.trim() } : {}) } as never })),
    done: () => `The task ${name} is retired`,
    changes: ["tasks", "jobs"],
  });
  return (
    <Modal opened onClose={onClose} title={`Retire the task ${name}`} closeButtonProps={{ "aria-label": "Close" }}>
      <TextInput
        label="Use instead"
        description="Whoever creates a job of the task is told to use this one."
        value={replacement}
        onChange={(event) => setReplacement(event.currentTarget.value)}
        maxLength={200}
        data-autofocus
      />
      <Radio.Group label="Its jobs" value={jobs} onChange={setJobs} mt="sm">
        <Radio value="keep" label="go on" mt={6} />
        <Radio value="cancel" label="are cancelled: this cannot be undone" mt={6} />
      </Radio.Group>
      {Boolean(retiring.error) && <Problem error={retiring.error} />}
      <Group justify="flex-end" mt="lg">
        <Button variant="default" onClick={onClose}>
          Keep the task
        </Button>
        <Button loading={retiring.isPending} onClick={() => retiring.mutate(undefined, { onSuccess: onClose })}>
          Retire the task
        </Button>
      </Group>
    </Modal>
  );
}
