import { describe, expect, test } from "vitest";
import type { Schemas } from "../api/client";
import { NEW_PING, pingDraftOf, pingRequestOf } from "./pingDraft";

const PING = {
  name: "backup",
  schedule: { cron: "0 2 * * *", timezone: "Europe/Paris" },
  grace: 5400,
  description: null,
  notify: [{ on: ["missing"], to: ["ops"] }, { on: ["slow"], to: ["mail"] }],
} as unknown as Schemas["PingView"];

describe("the form of a ping", () => {
  test("sends what was typed, and nobody is told unless a channel is named", () => {
    expect(pingRequestOf({ ...NEW_PING, grace: " 10m " })).toEqual({ schedule: "every day at 02:00", grace: "10m" });
    expect(pingRequestOf({ ...NEW_PING, channels: ["ops"] })).toMatchObject({ notify: [{ on: ["missing", "failed", "recovered"], to: ["ops"] }] });
  });

  test("begins with what a ping is", () => {
    const draft = pingDraftOf(PING);
    expect([draft.when.schedule, draft.when.timezone, draft.grace]).toEqual(["0 2 * * *", "Europe/Paris", "90m"]);
    expect([draft.kinds, draft.channels]).toEqual([["missing"], ["ops"]]);
  });

  test("leaves the notifications that it does not show as they are", () => {
    expect(pingRequestOf(pingDraftOf(PING), PING.notify.slice(1))["notify"]).toEqual(PING.notify);
  });
});
