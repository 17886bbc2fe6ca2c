import { describe, expect, it } from "vitest";
import type { Schemas } from "../api/client";
import { DraftError } from "../jobForm/jobDraft";
import { channelDraftOf, channelRequestOf, NEW_CHANNEL } from "./channelDraft";

const STORED: Schemas["ChannelView"] = {
  name: "team", kind: "email", url: null, secret: null, routing_key: null, api_key: null,
  to: ["ann@example.com"], from: "Tickwork <t@example.com>",
  smtp: { host: "mail.example.com", port: 465, security: "tls", username: "me", password: "***" },
  severity: "warning", quiet: { from: "22:00", to: "07:00", timezone: "Europe/Paris", except: "error" }, digest: "hourly",
  window: 600, rate: 10, paused: true, template: { title: "{job.name}", body: null },
  deliveries: { is_failing: false, sent: 0, failed: 0, sending: 0, waiting: 0, last_sent_at: null, error: null },
  created_at: "2026-11-18T00:00:00Z", changed_at: "2026-11-18T00:00:00Z",
};

describe("channelRequestOf", () => {
  it("sends only what differs from the defaults", () => {
    expect(channelRequestOf({ ...NEW_CHANNEL, url: " https://a.example/hook " })).toEqual({ kind: "webhook", url: "https://a.example/hook" });
  });

  it("sends the fields of its kind and no others", () => {
    const draft = { ...NEW_CHANNEL, url: "", routingKey: "r", apiKey: "a", to: ["x@example.com"], host: "mail" };
    expect(channelRequestOf({ ...draft, kind: "pagerduty" })).toEqual({ kind: "pagerduty", routing_key: "r" });
    expect(channelRequestOf({ ...draft, kind: "opsgenie" })).toEqual({ kind: "opsgenie", api_key: "a" });
    expect(channelRequestOf({ ...draft, kind: "email" })).toEqual({ kind: "email", to: ["x@example.com"] });
    expect(channelRequestOf({ ...draft, kind: "email", hasServer: true })).toMatchObject({ smtp: { host: "mail" } });
  });

  it("names the field of a number that is none", () => {
    expect(() => channelRequestOf({ ...NEW_CHANNEL, rate: "many" })).toThrow(new DraftError("rate", "“many” is not a whole number"));
  });
});

it("a channel that exists becomes the same request again, with its secrets kept", () => {
  expect(channelRequestOf(channelDraftOf(STORED))).toEqual({
    kind: "email", to: ["ann@example.com"], from: "Tickwork <t@example.com>",
    smtp: { host: "mail.example.com", port: 465, security: "tls", username: "me", password: "***" },
    severity: "warning", quiet: { from: "22:00", to: "07:00", timezone: "Europe/Paris", except: "error" }, digest: "hourly",
    window: "10m", rate: 10, paused: true, template: { title: "{job.name}" },
  });
});
