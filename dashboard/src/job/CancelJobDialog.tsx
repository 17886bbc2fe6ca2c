import { Button, Group, Modal, Switch, Text } from "@mantine/core";
import { useState } from "react";
import { jobTitle } from "../parts/jobTitle";
import { runningWords } from "./runningWords";
import type { Job } from "./useJobActions";

interface CancelJobDialogProps {
  job: Job;
  onClose: () => void;
  onCancel: (stopRunning: boolean) => void;
}

/** Cancels a job, and what runs of it if that is wanted. */
export default function CancelJobDialog({ job, onClose, onCancel }: CancelJobDialogProps) {
  const [stop, setStop] = useState(false);
  return (
    <Modal opened onClose={onClose} title={`Cancel ${jobTitle(job)}?`} closeButtonProps={{ "aria-label": "Close" }}>
      <Text>
        The job has no further executions, and those that wait are cancelled. Its history stays. This cannot be undone, but the job can be copied.
      </Text>
      <Switch
        mt="md"
        label="Also stop what runs now"
        description={job.running > 0 ? `${runningWords(job)} Workers are told to stop.` : "Nothing of it runs at the moment."}
        checked={stop}
        onChange={(event) => setStop(event.currentTarget.checked)}
      />
      <Group justify="flex-end" mt="lg" gap="sm">
        <Button variant="default" onClick={onClose} data-autofocus>
          Keep things as they are
        </Button>
        <Button
          color="red"
          onClick={() => {
            onClose();
            onCancel(stop);
          }}
        >
          Cancel the job
        </Button>
      </Group>
    </Modal>
  );
}
