import { Button, Group, Modal, NumberInput, Select, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { answer, api, type Schemas } from "../api/client";
import { Problem } from "../parts/Problem";
import { useAction } from "../parts/useAction";

type Queue = Schemas["QueueView"];

const pause = (name: string) => answer(api.POST("/v1/queues/{name}/pause", { params: { path: { name } } }));
const resume = (name: string) => answer(api.POST("/v1/queues/{name}/resume", { params: { path: { name } } }));

/** Pauses a queue, resumes it, and changes its limits. */
export function QueueActions({ queue }: { queue: Queue }) {
  const [edits, setEdits] = useState(false);
  const pausing = useAction({ act: pause, done: (name) => `The queue ${name} is paused`, changes: ["queues"], undo: resume });
  const resuming = useAction({ act: resume, done: (name) => `The queue ${name} goes on`, changes: ["queues"], undo: pause });
  return (
    <Group gap={6} wrap="nowrap">
      {queue.paused ? (
        <Button size="compact-xs" variant="default" loading={resuming.isPending} onClick={() => resuming.mutate(queue.name)}>
          Resume
        </Button>
      ) : (
        <Button size="compact-xs" variant="default" loading={pausing.isPending} onClick={() => pausing.mutate(queue.name)}>
          Pause
        </Button>
      )}
      <Button size="compact-xs" variant="default" onClick={() => setEdits(true)}>
        Limits
      </Button>
      {edits && <QueueLimits queue={queue} onClose={() => setEdits(false)} />}
    </Group>
  );
}

function QueueLimits({ queue, onClose }: { queue: Queue; onClose: () => void }) {
  const [running, setRunning] = useState<string | number>(queue.max_running ?? "");
  const [backlog, setBacklog] = useState<string | number>(queue.max_backlog ?? "");
  const [rate, setRate] = useState(queue.rate ?? "");
  const [workers, setWorkers] = useState<string | number>(queue.max_workers ?? "");
  const [keepFor, setKeepFor] = useState(queue.retention?.age ? `${queue.retention.age}s` : "");
  const [keepLast, setKeepLast] = useState<string | number>(queue.retention?.last ?? "");
  const [priority, setPriority] = useState<Queue["priority"]>(queue.priority);
  const saving = useAction({
    act: () =>
      answer(
        api.PUT("/v1/queues/{name}", {
          params: { path: { name: queue.name } },
          body: {
            max_running: limit(running), max_backlog: limit(backlog), rate: rate.trim() || null, max_workers: limit(workers), priority,
            retention: keepFor.trim() || keepLast ? { age: keepFor.trim() || null, last: limit(keepLast) } : null,
          },
        }),
      ),
    done: () => `The limits of ${queue.name} are set`,
    changes: ["queues"],
  });
  const save = () => saving.mutate(undefined, { onSuccess: onClose });
  return (
    <Modal opened onClose={onClose} title={`Limits of the queue ${queue.name}`} closeButtonProps={{ "aria-label": "Close" }}>
      <Text c="dimmed" mb="sm">
        They hold for all nodes and workers together. Leave a field empty for no limit.
      </Text>
      <NumberInput label="Running at the same time" value={running} onChange={setRunning} min={0} allowDecimal={false} data-autofocus />
      <TextInput label="Starts per time" description="such as 10/1s or 100/1m" value={rate} onChange={(event) => setRate(event.currentTarget.value)} mt="sm" />
      <NumberInput label="Waiting at most" description="what is due beyond that is skipped" value={backlog} onChange={setBacklog} min={1} allowDecimal={false} mt="sm" />
      <NumberInput label="Workers at the same time" description="that have executions of it" value={workers} onChange={setWorkers} min={1} allowDecimal={false} mt="sm" />
      <Select
        label="Priority among the queues"
        description="when workers are short, before the priority of jobs"
        data={["critical", "high", "normal", "low"]}
        value={priority}
        onChange={(chosen) => setPriority((chosen ?? "normal") as Queue["priority"])}
        allowDeselect={false}
        mt="sm"
      />
      <TextInput label="Keep executions for" description="such as 7d, after their end; a job may say otherwise" value={keepFor} onChange={(event) => setKeepFor(event.currentTarget.value)} mt="sm" />
      <NumberInput label="Keep of each job at most" description="of its latest executions; a job may say otherwise" value={keepLast} onChange={setKeepLast} min={1} max={10_000} allowDecimal={false} mt="sm" />
      {Boolean(saving.error) && <Problem error={saving.error} />}
      <Group justify="flex-end" mt="lg">
        <Button variant="default" onClick={onClose}>
          Keep them as they are
        </Button>
        <Button loading={saving.isPending} onClick={save}>
          Set the limits
        </Button>
      </Group>
    </Modal>
  );
}

function limit(value: string | number): number | null {
  return value === "" ? null : Number(value);
}
