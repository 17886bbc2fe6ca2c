import { Link } from "@tanstack/react-router";
import type { Schemas } from "../api/client";
import { ChannelLink } from "../channels/channelColumns";
import type { Column } from "../list/columns";
import { NotificationBadge } from "../parts/StatusBadge";
import { useNow } from "../time/now";
import { TimeText } from "../time/TimeText";
import { WHY_IT_WAITS, waitsAlthoughDue } from "./waitsAlthoughDue";

export type Notification = Schemas["NotificationView"];

const STATUS: Column<Notification> = { id: "status", header: "State", width: 150, cell: (each) => <NotificationBadge status={each.status} attempts={each.attempts} /> };
const WHAT: Column<Notification> = {
  id: "what",
  header: "What",
  width: 200,
  grows: true,
  always: true,
  cell: ({ id, item }) => (
    <Link to="/notifications/$id" params={{ id }} data-tip={item.title}>
      {item.title}
    </Link>
  ),
};
const COUNT: Column<Notification> = { id: "count", header: "Facts", width: 70, align: "right", cell: (each) => each.count.toLocaleString("en") };
const CREATED: Column<Notification> = { id: "created", header: "First", width: 104, cell: ({ created_at }) => <TimeText at={created_at} /> };
const ENDED: Column<Notification> = { id: "ended", header: "Told", width: 104, cell: (each) => (each.status === "waiting" ? <Due at={each.due_at} /> : <TimeText at={each.ended_at} missing="–" />) };
const KIND: Column<Notification> = { id: "kind", header: "Kind", width: 168, cell: ({ kind }) => kind };

export const NOTIFICATION_COLUMNS: Column<Notification>[] = [
  WHAT,
  STATUS,
  { id: "channel", header: "Channel", width: 150, cell: ({ channel }) => <ChannelLink name={channel} /> },
  COUNT,
  { id: "severity", header: "Severity", width: 84, cell: ({ severity }) => severity },
  KIND,
  CREATED,
  ENDED,
  { id: "error", header: "Error", width: 240, grows: true, extra: true, cell: ({ error }) => error ?? "–" },
  { id: "id", header: "Id", width: 80, extra: true, cell: ({ id }) => <code>{id}</code> },
  { id: "message", header: "Message", width: 240, extra: true, cell: ({ message_id }) => (message_id ? <code>{message_id}</code> : "–") },
];

/** On the page of one channel. */
export const DELIVERY_COLUMNS: Column<Notification>[] = [WHAT, STATUS, COUNT, CREATED, ENDED, { ...KIND, extra: true }];

/** When it is to be told. What is due may have to wait. */
function Due({ at }: { at: string }) {
  const now = useNow(() => 10_000);
  return waitsAlthoughDue(at, now) ? <span data-tip={WHY_IT_WAITS}>waits</span> : <TimeText at={at} />;
}
