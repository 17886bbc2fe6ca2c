import { Button } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { answer, api } from "../api/client";
import { confirm } from "../parts/confirm";
import { useAction } from "../parts/useAction";
import type { Channel } from "./useChannels";

/** Nobody is told anything by it any more. `rules`: the names of those that tell it. */
export function DeleteChannel({ channel, rules }: { channel: Channel; rules: readonly string[] }) {
  const navigate = useNavigate();
  const { name } = channel;
  const deleting = useAction({
    act: () => answer(api.DELETE("/v1/channels/{name}", { params: { path: { name } } })),
    done: () => `${name} is deleted`,
    changes: [],
  });
  const ask = async () => {
    const yes = await confirm({ title: `Delete the channel ${name}?`, effect: effectOf(channel, rules), action: "Delete the channel", danger: true });
    if (yes) deleting.mutate(undefined, { onSuccess: () => void navigate({ to: "/channels" }) });
  };
  return (
    <Button color="red" variant="light" loading={deleting.isPending} onClick={() => void ask()}>
      Delete
    </Button>
  );
}

/** What is lost by it, with names and counts. */
export function effectOf({ deliveries: { waiting, sending } }: Channel, rules: readonly string[]): string {
  const undelivered = waiting + sending;
  return [
    undelivered > 0 && `${undelivered.toLocaleString("en")} ${undelivered === 1 ? "notification that was" : "notifications that were"} not delivered yet will fail.`,
    rules.length > 0 && `${rules.length === 1 ? "The rule" : "The rules"} ${rules.join(", ")} and jobs that name it tell it nothing any more.`,
    rules.length === 0 && "Jobs that name it tell it nothing any more.",
    "Its secrets are gone. This cannot be undone.",
  ]
    .filter(Boolean)
    .join(" ");
}
