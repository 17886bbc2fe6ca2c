import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { answer, api, type Schemas } from "../api/client";
import { useMay } from "../api/session";
import classes from "../job/Job.module.css";
import { DELIVERY_COLUMNS } from "../notifications/notificationColumns";
import { NotificationTable } from "../notifications/NotificationTable";
import { ruleNews, scopeWords } from "../notifications/ruleDraft";
import { Card } from "../parts/Card";
import { CodeBlock } from "../parts/CodeBlock";
import { EmptyState } from "../parts/EmptyState";
import { Facts } from "../parts/Facts";
import { formatDuration } from "../time/formatDuration";
import { TimeText } from "../time/TimeText";
import { quietWords, severityWords } from "./channelKinds";
import { MessagePreview } from "./MessagePreview";
import { TestChannel } from "./TestChannel";
import type { Channel } from "./useChannels";

type Rule = Schemas["NotificationRuleView"];

/** How a channel is doing, what it was told, and what it is. */
export function ChannelOverview({ channel, rules }: { channel: Channel; rules: readonly Rule[] }) {
  const mayWrite = useMay("write");
  const { name } = channel;
  return (
    <div className={classes.columns}>
      <div>
        <NotificationTable
          name="channel-deliveries"
          label="Notifications of this channel"
          title="What it was told"
          columns={DELIVERY_COLUMNS}
          filters={{ channel: name }}
          empty={
            <EmptyState
              title="It was told nothing yet"
              text="Jobs name it in their notify, and rules tell it of many jobs at once."
              command={`tickwork notification set-rule all --on failed --on recovered --to ${name}`}
            />
          }
        />
        <Card title="Message" actions={mayWrite && <Link to="/channels/$name" params={{ name }} search={{ tab: "template" }}>Change its texts</Link>}>
          <Sample channel={channel} />
        </Card>
      </div>
      <div>
        <Card title="How it is doing">
          <Doing channel={channel} />
        </Card>
        {mayWrite && (
          <Card title="Test">
            <TestChannel name={name} />
          </Card>
        )}
        <Card title="Settings">
          <Settings channel={channel} />
        </Card>
        <Card title="Rules that tell it">
          <Rules rules={rules} />
        </Card>
      </div>
    </div>
  );
}

function Doing({ channel: { deliveries } }: { channel: Channel }) {
  return (
    <>
      <Facts
        facts={[
          ["Last delivery", <TimeText key="sent" at={deliveries.last_sent_at} missing="none yet" />],
          ["Delivered", deliveries.sent.toLocaleString("en")],
          ["Failed", deliveries.failed.toLocaleString("en")],
          ["On their way", deliveries.sending.toLocaleString("en")],
          ["Gathered, not told yet", deliveries.waiting.toLocaleString("en")],
        ]}
      />
      {deliveries.error && (
        <div className={classes.actions}>
          <CodeBlock code={deliveries.error} what="the error" wrap maxHeight={160} />
        </div>
      )}
    </>
  );
}

function Settings({ channel }: { channel: Channel }) {
  return (
    <Facts
      facts={[
        ...(channel.kind === "webhook" ? ([["Signed with", channel.secret ? "a secret of its own" : "that of the tenant"]] as const) : []),
        ...(channel.from ? ([["From", channel.from]] as const) : []),
        ...(channel.smtp ? ([["Encryption", `${channel.smtp.security}, port ${channel.smtp.port}`]] as const) : []),
        ["Told of", severityWords(channel.severity)],
        ["How soon", channel.digest],
        ["Together within", formatDuration(channel.window)],
        ["At most", `${channel.rate} a minute`],
        ["Quiet hours", quietWords(channel.quiet) ?? "none"],
        ["Created", <TimeText key="created" at={channel.created_at} />],
        ["Changed", <TimeText key="changed" at={channel.changed_at} />],
      ]}
    />
  );
}

function Sample({ channel: { name, changed_at } }: { channel: Channel }) {
  const preview = useQuery({
    queryKey: ["channels", "sample", name, changed_at],
    queryFn: () => answer(api.POST("/v1/channels/{name}/preview", { params: { path: { name } }, body: {} as never })),
    staleTime: Infinity,
  });
  return (
    <>
      <p className={classes.secondary}>What it sends about a sample execution that failed:</p>
      {preview.data && <MessagePreview content={preview.data} />}
    </>
  );
}

function Rules({ rules }: { rules: readonly Rule[] }) {
  if (rules.length === 0) return <span className={classes.secondary}>None. Jobs may name it themselves.</span>;
  return (
    <ul className={classes.list}>
      {rules.map((rule) => (
        <li key={rule.name}>
          <Link to="/notification-rules/$name" params={{ name: rule.name }}>
            {rule.name}
          </Link>
          <span className={classes.secondary}>{scopeWords(rule)}</span>
          <span className={classes.change}>{ruleNews(rule)}</span>
        </li>
      ))}
    </ul>
  );
}
