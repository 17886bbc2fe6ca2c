import { quoted } from "../jobForm/jobSnippets";
import type { ChannelFields } from "./channelDraft";

export const CHANNEL_SNIPPETS = ["CLI", "curl"] as const;
export type ChannelSnippetKind = (typeof CHANNEL_SNIPPETS)[number];

/** What of each kind is secret. It is in no snippet: a command reads it, or the shell has it as a variable. */
const SECRETS: Record<string, string> = {
  webhook: "secret", slack: "url", teams: "url", pagerduty: "routing_key", opsgenie: "api_key", apprise: "url", email: "password",
};

/** The same channel in another notation, to copy. */
export function channelSnippetOf(kind: ChannelSnippetKind, name: string, fields: ChannelFields, origin: string): string {
  return kind === "CLI" ? cliOf(name || "NAME", fields) : curlOf(name || "NAME", fields, origin);
}

function cliOf(name: string, fields: ChannelFields): string {
  const secret = SECRETS[fields.kind];
  const flags = Object.entries(fields).flatMap(([field, value]) => {
    if (field === secret && value) return [`${flagOf(field)} -`];
    return (FLAGS[field] ?? plainFlag)(value, field);
  });
  const command = [`tickwork channel set ${quoted(name)}`, ...flags].join(" \\\n  ");
  return flags.some((flag) => flag.endsWith(" -")) ? `${command}\n# reads the secret from stdin` : command;
}

const flagOf = (field: string) => `--${field.replaceAll("_", "-")}`;

function plainFlag(value: unknown, field: string): string[] {
  return [`${flagOf(field)} ${value === "" ? field.toUpperCase() : quoted(String(value))}`]; // what is not typed yet has a name
}

const FLAGS: Record<string, (value: unknown, field: string) => string[]> = {
  to: (value) => (value as string[]).map((address) => `--to ${quoted(address)}`),
  smtp: (value) =>
    Object.entries(value as Record<string, unknown>).map(([part, text]) => (part === "password" ? "--smtp-password -" : `--smtp-${part} ${quoted(String(text))}`)),
  quiet: (value) => {
    const { from, to, timezone, except } = value as { from: string; to: string; timezone?: string; except?: string };
    return [`--quiet ${quoted(`${from}-${to}`)}`, ...(timezone ? [`--quiet-timezone ${quoted(timezone)}`] : []), ...(except ? [`--quiet-except ${except}`] : [])];
  },
  template: (value) => Object.entries(value as Record<string, string>).map(([part, text]) => `--${part} ${quoted(text)}`),
  paused: () => ["--paused"],
};

function curlOf(name: string, fields: ChannelFields, origin: string): string {
  const secret = SECRETS[fields.kind] ?? "";
  const body = forHereDocument(JSON.stringify(fields, (field, value: unknown) => (field === secret && value ? `\0${field.toUpperCase()}` : value), 2));
  return [
    `curl -X PUT ${quoted(`${origin}/v1/channels/${encodeURIComponent(name)}`)} \\`,
    `  -H "Authorization: Bearer $TICKWORK_API_KEY" \\`,
    `  -H "Content-Type: application/json" \\`,
    "  -d @- <<END",
    body,
    "END",
  ].join("\n");
}

/** The shell replaces variables in a here-document: only that of the secret is meant. */
function forHereDocument(text: string): string {
  return text.replaceAll(/[\\$`]/g, "\\$&").replaceAll("\\\\u0000", "$");
}
