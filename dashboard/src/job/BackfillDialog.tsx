import { Button, Group, Modal, NumberInput, Select, SimpleGrid, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { request, type Schemas } from "../api/client";
import { errorAt, fieldErrorsOf } from "../jobForm/fieldErrors";
import { useLater } from "../jobForm/useLater";
import { Problem } from "../parts/Problem";
import { toast } from "../parts/toast";
import { absoluteTime } from "../time/formatTime";
import { MY_ZONE, useZone } from "../time/zone";
import type { Job } from "./useJobActions";
import { jobTitle } from "../parts/jobTitle";

const DAY = 86_400_000;

interface Form {
  from: string;
  to: string;
  policy: "missing" | "failed";
  order: "oldest" | "newest";
  maxActive: number;
}

/** Runs a job for due times in the past. How many there are is shown before anything starts. */
export default function BackfillDialog({ job, onClose }: { job: Job; onClose: () => void }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const zone = useZone();
  const [form, setForm] = useState<Form>(() => ({ from: inputTime(Date.now() - DAY), to: inputTime(Date.now()), policy: "missing", order: "oldest", maxActive: 1 }));
  const set = (change: Partial<Form>) => setForm({ ...form, ...change });
  const body = bodyOf(form);
  const asked = useLater(body);
  const path = `/v1/jobs/${encodeURIComponent(job.id)}/backfill`;
  const plan = useQuery({
    queryKey: ["backfill-plan", job.id, asked],
    queryFn: () => request<Schemas["BackfillPlan"]>("POST", path, { ...asked, dry_run: true }),
    enabled: asked !== null,
    retry: false,
    gcTime: 0,
  });
  const start = useMutation({
    mutationFn: () => request<Schemas["BackfillView"]>("POST", path, body),
    onSuccess: ({ total }) => {
      toast(`A backfill of ${total} runs is under way`);
      void queries.invalidateQueries({ queryKey: ["jobs", "backfills", job.id] });
      onClose();
      void navigate({ to: "/jobs/$id", params: { id: job.id }, search: { tab: "executions" } });
    },
  });
  const errors = fieldErrorsOf(start.error ?? plan.error);
  return (
    <Modal opened onClose={onClose} title={`Backfill ${jobTitle(job)}`} size="lg" closeButtonProps={{ "aria-label": "Close" }}>
      <Text mb="md">Runs the job for due times in the past, a few at a time. Due times that have an execution are left out.</Text>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing={12}>
        <TextInput type="datetime-local" label={`From (${MY_ZONE})`} value={form.from} onChange={(event) => set({ from: event.currentTarget.value })} error={errorAt(errors, "from")} />
        <TextInput type="datetime-local" label={`To (${MY_ZONE})`} value={form.to} onChange={(event) => set({ to: event.currentTarget.value })} error={errorAt(errors, "to")} />
        <Select
          label="Which"
          allowDeselect={false}
          data={[
            { value: "missing", label: "due times that never ran" },
            { value: "failed", label: "also those that failed or were skipped" },
          ]}
          value={form.policy}
          onChange={(policy) => set({ policy: (policy ?? "missing") as Form["policy"] })}
        />
        <Select
          label="In which order"
          allowDeselect={false}
          data={[
            { value: "oldest", label: "oldest first" },
            { value: "newest", label: "newest first" },
          ]}
          value={form.order}
          onChange={(order) => set({ order: (order ?? "oldest") as Form["order"] })}
        />
        <NumberInput label="At most at once" min={1} max={1000} value={form.maxActive} onChange={(value) => set({ maxActive: Number(value) || 1 })} error={errorAt(errors, "max_active")} />
      </SimpleGrid>
      <Text mt="md" role="status">
        {plan.data && planWords(plan.data, zone)}
      </Text>
      {Boolean(start.error ?? plan.error) && <Problem error={start.error ?? plan.error} />}
      <Group justify="flex-end" mt="lg" gap="sm">
        <Button variant="default" onClick={onClose}>
          Keep things as they are
        </Button>
        <Button onClick={() => start.mutate()} loading={start.isPending} disabled={!plan.data || plan.data.total === 0 || JSON.stringify(asked) !== JSON.stringify(body)}>
          {plan.data ? `Run ${plan.data.total.toLocaleString("en")} due times` : "Run them"}
        </Button>
      </Group>
    </Modal>
  );
}

function planWords({ total, first, last }: Schemas["BackfillPlan"], zone: string): string {
  if (total === 0 || !first || !last) return "There is nothing to run in this range.";
  return `${total.toLocaleString("en")} due times, from ${absoluteTime(new Date(first), zone)} to ${absoluteTime(new Date(last), zone)}.`;
}

/** As an input of the type datetime-local wants it: in the viewer's zone, without it. */
function inputTime(at: number): string {
  const local = new Date(at - new Date(at).getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}

function bodyOf({ from, to, policy, order, maxActive }: Form): Record<string, unknown> | null {
  const [begin, end] = [new Date(from), new Date(to)];
  if (Number.isNaN(begin.getTime()) || Number.isNaN(end.getTime())) return null;
  return { from: begin.toISOString(), to: end.toISOString(), policy, order, max_active: maxActive };
}
