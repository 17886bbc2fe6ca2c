import { Link } from "@tanstack/react-router";
import type { Column } from "../list/columns";
import { StateBadge } from "../parts/StatusBadge";
import { TimeText } from "../time/TimeText";
import { CHANNEL_KINDS, goesTo, quietWords, severityWords } from "./channelKinds";
import { channelLook } from "./channelState";
import type { Channel } from "./useChannels";

export const CHANNEL_COLUMNS: Column<Channel>[] = [
  { id: "name", header: "Channel", width: 160, always: true, cell: ({ name }) => <ChannelLink name={name} /> },
  { id: "state", header: "State", width: 110, cell: (channel) => <StateBadge look={channelLook(channel)} /> },
  { id: "kind", header: "Kind", width: 138, cell: ({ kind }) => CHANNEL_KINDS[kind]?.label ?? kind },
  { id: "sent", header: "Last delivery", width: 108, cell: ({ deliveries }) => <TimeText at={deliveries.last_sent_at} missing="–" /> },
  { id: "failed", header: "Failed", width: 72, align: "right", cell: ({ deliveries }) => count(deliveries.failed) },
  { id: "waiting", header: "Gathered", width: 88, align: "right", cell: ({ deliveries }) => count(deliveries.waiting) },
  { id: "severity", header: "Told of", width: 112, cell: ({ severity }) => severityWords(severity) },
  { id: "digest", header: "How soon", width: 112, cell: ({ digest }) => digest },
  { id: "quiet", header: "Quiet hours", width: 220, grows: true, cell: ({ quiet }) => <Quiet words={quietWords(quiet)} /> },
  { id: "to", header: "Goes to", width: 240, grows: true, extra: true, cell: (channel) => goesTo(channel) },
  { id: "rate", header: "A minute", width: 90, align: "right", extra: true, cell: ({ rate }) => rate },
  { id: "error", header: "Error", width: 240, grows: true, extra: true, cell: ({ deliveries }) => deliveries.error ?? "–" },
  { id: "changed", header: "Changed", width: 110, extra: true, cell: ({ changed_at }) => <TimeText at={changed_at} /> },
];

export function ChannelLink({ name }: { name: string }) {
  return (
    <Link to="/channels/$name" params={{ name }}>
      {name}
    </Link>
  );
}

function Quiet({ words }: { words: string | null }) {
  return words ? <span data-tip={words}>{words}</span> : "–";
}

/** Nothing to see is not worth a digit. */
function count(value: number): string {
  return value === 0 ? "–" : value.toLocaleString("en");
}
