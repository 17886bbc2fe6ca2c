import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { answer, api, type Schemas } from "../api/client";
import { useMay } from "../api/session";
import { ChannelLink } from "../channels/channelColumns";
import { MessagePreview } from "../channels/MessagePreview";
import classes from "../job/Job.module.css";
import { every } from "../live/useLive";
import { FactExamples } from "../notifications/FactExample";
import { waitsAlthoughDue } from "../notifications/waitsAlthoughDue";
import { MessageDelivery } from "../notifications/MessageDelivery";
import type { Notification } from "../notifications/notificationColumns";
import ownClasses from "../notifications/Notifications.module.css";
import { ResendNotification } from "../notifications/ResendNotification";
import { Answer } from "../parts/Answer";
import { Card } from "../parts/Card";
import { CodeBlock } from "../parts/CodeBlock";
import { CopyButton } from "../parts/CopyButton";
import { Facts } from "../parts/Facts";
import { PageHeader } from "../parts/PageHeader";
import { NotificationBadge } from "../parts/StatusBadge";
import { useNow } from "../time/now";
import { TimeText } from "../time/TimeText";

const route = getRouteApi("/inside/notifications/$id");

/** What a channel is told about one cause: what happened, how it was put, and how it was delivered. */
export default function NotificationPage() {
  const { id } = route.useParams();
  const notification = useQuery({
    queryKey: ["notifications", "one", id],
    queryFn: () => answer(api.GET("/v1/notifications/{id}", { params: { path: { id } } })),
    refetchInterval: every(5_000), // that a message was delivered is no event
  });
  return <Answer query={notification}>{(data) => <Shown notification={data} />}</Answer>;
}

function Shown({ notification }: { notification: Notification }) {
  const mayWrite = useMay("write");
  const { id, message_id, status, attempts } = notification;
  const message = useQuery({
    queryKey: ["notifications", "message", id, message_id, status, attempts],
    queryFn: () => answer(api.GET("/v1/notifications/{id}/message", { params: { path: { id } } })),
    enabled: Boolean(message_id),
  });
  return (
    <>
      <PageHeader
        title={notification.item.title}
        beside={<NotificationBadge status={status} attempts={attempts} />}
        sentence={<Sentence notification={notification} />}
        actions={mayWrite && <ResendNotification notification={notification} />}
      />
      <div className={classes.columns}>
        <div>
          <Card title="What happened">
            <FactExamples item={notification.item} />
          </Card>
          {message.data && (
            <Card title="Message">
              <Content message={message.data} severity={notification.severity} />
            </Card>
          )}
        </div>
        <div>
          <Card title="Notification">
            <NotificationFacts notification={notification} />
          </Card>
          {message.data ? (
            <Card title="Delivery">
              <MessageDelivery message={message.data} />
            </Card>
          ) : (
            notification.error && (
              <Card title="Why it was not told">
                <CodeBlock code={notification.error} what="the reason" wrap />
              </Card>
            )
          )}
        </div>
      </div>
    </>
  );
}

function Sentence({ notification: { status, channel, count, due_at, ended_at, error } }: { notification: Notification }) {
  const facts = count === 1 ? "One fact" : `${count.toLocaleString("en")} facts of one cause`;
  const to = <ChannelLink name={channel} />;
  const now = useNow(() => 10_000);
  switch (status) {
    case "waiting":
      return (
        <>
          {facts}, to be told to {to} {waitsAlthoughDue(due_at, now) ? "once it can be: the message before it is on its way, it is quiet hours, or the channel is paused" : <TimeText at={due_at} />}. What
          follows of the same cause is counted with it.
        </>
      );
    case "sending":
      return (
        <>
          {facts}, on the way to {to}
          {error ? ": the last attempt failed, and another follows." : "."}
        </>
      );
    case "sent":
      return (
        <>
          {facts}, told to {to} <TimeText at={ended_at} />.
        </>
      );
    default:
      return (
        <>
          {facts}, which {to} was not told.
        </>
      );
  }
}

function NotificationFacts({ notification }: { notification: Notification }) {
  const { message_id } = notification;
  return (
    <Facts
      facts={[
        ["Channel", <ChannelLink key="channel" name={notification.channel} />],
        ["Kind", notification.kind],
        ["Severity", notification.severity],
        ["Facts", notification.count.toLocaleString("en")],
        ["First gathered", <TimeText key="created" at={notification.created_at} />],
        [notification.status === "waiting" ? "To be told" : "Was to be told", <TimeText key="due" at={notification.due_at} />],
        ["Id", <code key="id">{notification.id}</code>],
        ...(message_id ? ([["Message id", <MessageId key="message" id={message_id} />]] as const) : []),
      ]}
    />
  );
}

function MessageId({ id }: { id: string }) {
  return (
    <span data-tip="By which the receiver knows the message again">
      <code>{id}</code> <CopyButton text={id} what="the id of the message" />
    </span>
  );
}

function Content({ message, severity }: { message: Schemas["MessageView"]; severity: string }) {
  return (
    <>
      {message.content ? (
        <>
          <p className={ownClasses.hint}>As the channel puts it, with its texts as they are now.</p>
          <MessagePreview content={message.content} severity={severity} />
        </>
      ) : (
        <p className={ownClasses.hint}>Its channel was deleted, and with it how it puts things.</p>
      )}
      {message.items.length > 1 && (
        <>
          <h3 className={ownClasses.subtitle}>{message.items.length} causes are told in this message</h3>
          <ul className={ownClasses.others}>
            {message.items.map((item) => (
              <li key={`${item.kind} ${item.title} ${item.at}`}>{(item.count ?? 1) > 1 ? `${item.title} (${item.count} times)` : item.title}</li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
