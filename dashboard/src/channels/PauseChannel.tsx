import { Button } from "@mantine/core";
import { IconPlayerPause, IconPlayerPlay } from "@tabler/icons-react";
import { answer, api } from "../api/client";
import { useAction } from "../parts/useAction";
import { channelDraftOf, channelRequestOf } from "./channelDraft";
import type { Channel } from "./useChannels";

/** Tells it nothing for now, or goes on. What happens meanwhile is gathered. */
export function PauseChannel({ channel }: { channel: Channel }) {
  const { name } = channel;
  const set = (paused: boolean) =>
    answer(api.PUT("/v1/channels/{name}", { params: { path: { name } }, body: channelRequestOf({ ...channelDraftOf(channel), paused }) as never }));
  const changing = useAction({
    act: set,
    done: (paused) => (paused ? `${name} is paused; what happens is gathered` : `${name} is told again`),
    changes: ["channels"],
    undo: (paused) => set(!paused),
  });
  return (
    <Button
      variant="default"
      leftSection={channel.paused ? <IconPlayerPlay size={14} /> : <IconPlayerPause size={14} />}
      loading={changing.isPending}
      onClick={() => changing.mutate(!channel.paused)}
    >
      {channel.paused ? "Resume" : "Pause"}
    </Button>
  );
}
