import type { Schemas } from "../api/client";
import { DraftError, seconds } from "../jobForm/jobDraft";
import type { ChannelKind } from "./channelKinds";

/** A channel as the form holds it: everything as text, so that half-typed values have a place. */
export interface ChannelDraft {
  name: string;
  kind: ChannelKind;
  /** Of all kinds but email; what a kind does not have is kept while another is looked at. */
  url: string;
  secret: string;
  routingKey: string;
  apiKey: string;
  to: string[];
  /** A mail server of its own, instead of the relay in the server's settings. */
  hasServer: boolean;
  host: string;
  port: string;
  security: string;
  username: string;
  password: string;
  from: string;
  severity: string;
  digest: string;
  window: string;
  rate: string;
  paused: boolean;
  isQuiet: boolean;
  quietFrom: string;
  quietTo: string;
  quietZone: string;
  quietExcept: string;
  title: string;
  body: string;
}

export const NEW_CHANNEL: ChannelDraft = {
  name: "", kind: "webhook", url: "", secret: "", routingKey: "", apiKey: "",
  to: [], hasServer: false, host: "", port: "587", security: "starttls", username: "", password: "", from: "",
  severity: "info", digest: "immediately", window: "5m", rate: "30", paused: false,
  isQuiet: false, quietFrom: "22:00", quietTo: "07:00", quietZone: "UTC", quietExcept: "error",
  title: "", body: "",
};

export type ChannelFields = Record<string, unknown> & { kind: ChannelKind };

/** The body of PUT /v1/channels/{name}: only what differs from the defaults. Throws DraftError. */
export function channelRequestOf(draft: ChannelDraft): ChannelFields {
  const template = { ...(draft.title ? { title: draft.title } : {}), ...(draft.body ? { body: draft.body } : {}) };
  return {
    kind: draft.kind,
    ...fieldsOfKind(draft),
    ...(draft.severity === NEW_CHANNEL.severity ? {} : { severity: draft.severity }),
    ...(draft.isQuiet ? { quiet: quietOf(draft) } : {}),
    ...(draft.digest === NEW_CHANNEL.digest ? {} : { digest: draft.digest }),
    ...(draft.window.trim() === NEW_CHANNEL.window ? {} : { window: draft.window.trim() }),
    ...(draft.rate.trim() === NEW_CHANNEL.rate ? {} : { rate: wholeNumber("rate", draft.rate) }),
    ...(draft.paused ? { paused: true } : {}),
    ...(Object.keys(template).length > 0 ? { template } : {}),
  };
}

function fieldsOfKind(draft: ChannelDraft): Record<string, unknown> {
  switch (draft.kind) {
    case "webhook":
      return { url: draft.url.trim(), ...given("secret", draft.secret) };
    case "email":
      return { to: draft.to, ...(draft.hasServer ? { smtp: smtpOf(draft), ...given("from", draft.from) } : {}) };
    case "pagerduty":
      return { routing_key: draft.routingKey.trim(), ...given("url", draft.url) };
    case "opsgenie":
      return { api_key: draft.apiKey.trim(), ...given("url", draft.url) };
    default:
      return { url: draft.url.trim() };
  }
}

function smtpOf({ host, port, security, username, password }: ChannelDraft): Record<string, unknown> {
  return {
    host: host.trim(),
    ...(port.trim() === NEW_CHANNEL.port ? {} : { port: wholeNumber("smtp.port", port) }),
    ...(security === NEW_CHANNEL.security ? {} : { security }),
    ...given("username", username),
    ...given("password", password),
  };
}

function quietOf({ quietFrom, quietTo, quietZone, quietExcept }: ChannelDraft): Record<string, unknown> {
  return {
    from: quietFrom.trim(),
    to: quietTo.trim(),
    ...(quietZone === "UTC" ? {} : { timezone: quietZone }),
    ...(quietExcept === "" ? {} : { except: quietExcept }),
  };
}

function given(name: string, text: string): Record<string, string> {
  return text.trim() ? { [name]: text.trim() } : {};
}

function wholeNumber(path: string, text: string): number {
  const value = Number(text.trim());
  if (!text.trim() || !Number.isInteger(value)) throw new DraftError(path, `“${text}” is not a whole number`);
  return value;
}

/** The draft of a channel that exists. Its secrets are ***, which keeps them when it is sent back. */
export function channelDraftOf(channel: Schemas["ChannelView"]): ChannelDraft {
  const { smtp, quiet, template } = channel;
  return {
    ...NEW_CHANNEL,
    name: channel.name,
    kind: channel.kind,
    url: channel.url ?? "",
    secret: channel.secret ?? "",
    routingKey: channel.routing_key ?? "",
    apiKey: channel.api_key ?? "",
    to: [...(channel.to ?? [])],
    from: channel.from ?? "",
    hasServer: Boolean(smtp),
    ...(smtp ? { host: smtp.host, port: String(smtp.port), security: smtp.security, username: smtp.username ?? "", password: smtp.password ?? "" } : {}),
    severity: channel.severity,
    digest: channel.digest,
    window: seconds(channel.window),
    rate: String(channel.rate),
    paused: channel.paused,
    isQuiet: Boolean(quiet),
    ...(quiet ? { quietFrom: quiet.from, quietTo: quiet.to, quietZone: quiet.timezone ?? "UTC", quietExcept: quiet.except ?? "" } : {}),
    title: template?.title ?? "",
    body: template?.body ?? "",
  };
}
