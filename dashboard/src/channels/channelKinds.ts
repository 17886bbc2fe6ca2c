import type { Schemas } from "../api/client";

export type ChannelKind = Schemas["ChannelView"]["kind"];

interface KindWords {
  /** As the service calls itself. */
  label: string;
  meaning: string;
}

/** Every kind of channel, in the order in which they are offered. */
export const CHANNEL_KINDS: Record<ChannelKind, KindWords> = {
  webhook: { label: "Webhook", meaning: "A signed POST to a URL of yours, in the format of Standard Webhooks." },
  email: { label: "E-mail", meaning: "A mail as text and HTML, by the server's relay or by a mail server of yours." },
  slack: { label: "Slack", meaning: "A message in a channel of Slack, by an incoming webhook." },
  teams: { label: "Microsoft Teams", meaning: "A card in a chat or channel of Teams, by a workflow." },
  pagerduty: { label: "PagerDuty", meaning: "An incident that is opened by a failure, and closed when all is well again." },
  opsgenie: { label: "Opsgenie", meaning: "An alert that is opened by a failure, and closed when all is well again." },
  apprise: { label: "Apprise", meaning: "One of more than a hundred other services, by its apprise URL." },
};

export const SEVERITIES = [
  { value: "info", label: "everything", meaning: "Also what went well, if somebody asks for it." },
  { value: "warning", label: "warnings and errors", meaning: "What is late, slow, skipped or tried again, and all failures." },
  { value: "error", label: "errors only", meaning: "What failed for good, was missed or is stuck; and that it is over." },
] as const;

export const DIGESTS = [
  { value: "immediately", label: "immediately", meaning: "Within seconds; what follows of the same cause is gathered." },
  { value: "hourly", label: "hourly", meaning: "One message at the full hour, if there is anything to tell." },
  { value: "daily", label: "daily", meaning: "One message at nine o’clock, in the time zone of the quiet hours." },
] as const;

/** "warnings and errors" */
export function severityWords(severity: string): string {
  return SEVERITIES.find(({ value }) => value === severity)?.label ?? severity;
}

/** "22:00–07:00 (Europe/Paris), except errors" */
export function quietWords(quiet: Schemas["QuietHours"] | null): string | null {
  if (!quiet) return null;
  const excepted = { error: ", except errors", warning: ", except warnings and errors", info: "" }[quiet.except ?? "info"];
  return `${quiet.from}–${quiet.to} (${quiet.timezone ?? "UTC"})${excepted}`;
}

/** Where its messages go, without secrets. */
export function goesTo(channel: Schemas["ChannelView"]): string {
  if (channel.kind !== "email") return channel.url ?? "–";
  const server = channel.smtp ? ` by ${channel.smtp.host}` : "";
  return `${(channel.to ?? []).join(", ")}${server}`;
}
