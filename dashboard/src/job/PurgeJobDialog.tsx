import { Button, Group, List, Modal, Switch, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { request, type Schemas } from "../api/client";
import { jobTitle } from "../parts/jobTitle";
import { Problem } from "../parts/Problem";
import { toast } from "../parts/toast";
import { runningWords } from "./runningWords";
import type { Job } from "./useJobActions";

type Purge = Schemas["PurgeView"];

/** Deletes a job and everything about it. */
export default function PurgeJobDialog({ job, onClose }: { job: Job; onClose: () => void }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [stop, setStop] = useState(false);
  const name = jobTitle(job);
  const purge = useMutation({
    mutationFn: () => request<Purge>("DELETE", `/v1/jobs/${job.id}?purge=true${stop ? "&running=cancel" : ""}`),
    onSuccess: ({ status }) => {
      toast(status === "completed" ? `${name} is deleted` : `${name} is being deleted: the rest goes on in the background`);
      onClose();
      void navigate({ to: "/jobs" });
      void queries.invalidateQueries();
    },
  });
  return (
    <Modal opened onClose={onClose} title={`Delete ${name} for good?`} closeButtonProps={{ "aria-label": "Close" }}>
      <Text>Nothing of this can be restored:</Text>
      <List mt="xs" spacing={4}>
        <List.Item>the job itself, what it was before it was edited, and who changed it</List.Item>
        <List.Item>all its executions, with attempts, logs, results and dead letters</List.Item>
        <List.Item>its events and notifications</List.Item>
      </List>
      <Text mt="sm">Statistics keep their counts. The key of the job is free at once. To keep the history, cancel the job instead.</Text>
      <Switch
        mt="md"
        label="Stop what runs first"
        description={job.running > 0 ? `${runningWords(job)} Without this, the job is not deleted yet.` : "Nothing of it runs at the moment."}
        checked={stop}
        onChange={(event) => setStop(event.currentTarget.checked)}
      />
      {Boolean(purge.error) && <Problem error={purge.error} />}
      <Group justify="flex-end" mt="lg" gap="sm">
        <Button variant="default" onClick={onClose} data-autofocus>
          Keep things as they are
        </Button>
        <Button color="red" loading={purge.isPending} onClick={() => purge.mutate()}>
          Delete it for good
        </Button>
      </Group>
    </Modal>
  );
}
