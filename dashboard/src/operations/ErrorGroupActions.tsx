import { Button, Group, Modal, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { answer, api, type Schemas } from "../api/client";
import { confirm } from "../parts/confirm";
import { Problem } from "../parts/Problem";
import { useAction } from "../parts/useAction";

type ErrorGroup = Schemas["ErrorGroupView"];

const MOST = 1_000_000; // that one request redrives
const CHANGED = ["errors", "dead-letters", "executions", "overview"];

/** Runs the dead letters of one cause again, or gives them up. */
export function ErrorGroupActions({ group }: { group: ErrorGroup }) {
  const [redrives, setRedrives] = useState(false);
  const discarding = useAction({
    act: (fingerprint: string) => answer(api.POST("/v1/errors/{fingerprint}/discard", { params: { path: { fingerprint } } })),
    done: (_, { discarded }) => `${discarded.toLocaleString("en")} dead letters are discarded`,
    changes: CHANGED,
  });
  const discard = async () => {
    const yes = await confirm({
      title: `Discard ${group.dead_letters.toLocaleString("en")} dead letters?`,
      effect: `They failed with ${group.type} in ${group.task}. They leave this list and cannot be redriven; the history keeps them.`,
      action: "Discard them",
      danger: true,
    });
    if (yes) discarding.mutate(group.fingerprint);
  };
  if (group.dead_letters === 0) return null;
  return (
    <Group gap={6} wrap="nowrap">
      <Button size="compact-xs" variant="default" onClick={() => setRedrives(true)}>
        Redrive
      </Button>
      <Button size="compact-xs" variant="default" loading={discarding.isPending} onClick={() => void discard()}>
        Discard
      </Button>
      {redrives && <RedriveDialog group={group} onClose={() => setRedrives(false)} />}
    </Group>
  );
}

function RedriveDialog({ group, onClose }: { group: ErrorGroup; onClose: () => void }) {
  const [rate, setRate] = useState("");
  const redriving = useAction({
    act: () =>
      answer(
        api.POST("/v1/errors/{fingerprint}/redrive", {
          params: { path: { fingerprint: group.fingerprint } },
          body: { rate: rate.trim() || null, start_at: null, max: MOST },
        }),
      ),
    done: (_, { redriven }) => `${redriven.toLocaleString("en")} executions are tried again`,
    changes: CHANGED,
  });
  const redrive = () => redriving.mutate(undefined, { onSuccess: onClose });
  return (
    <Modal opened onClose={onClose} title={`Redrive: ${group.type} in ${group.task}`} closeButtonProps={{ "aria-label": "Close" }}>
      <Text>
        <strong>{group.dead_letters.toLocaleString("en")} executions</strong> failed for good with this cause. They run again with all their attempts.
      </Text>
      <TextInput
        label="How fast"
        description="such as 100/1m; empty: all at once"
        placeholder="100/1m"
        value={rate}
        onChange={(event) => setRate(event.currentTarget.value)}
        mt="sm"
        data-autofocus
      />
      {Boolean(redriving.error) && <Problem error={redriving.error} />}
      <Group justify="flex-end" mt="lg">
        <Button variant="default" onClick={onClose}>
          Leave them
        </Button>
        <Button loading={redriving.isPending} onClick={redrive}>
          Redrive {group.dead_letters.toLocaleString("en")}
        </Button>
      </Group>
    </Modal>
  );
}
