import { expect, test } from "vitest";
import { notificationFields, notificationQuery } from "./notificationFilters";

test("a distance from now becomes a time, and a time stays", () => {
  const now = new Date("2026-11-18T12:00:00Z");
  expect(notificationQuery({ since: "1h", status: "failed", kind: undefined }, now)).toEqual({ since: "2026-11-18T11:00:00.000Z", status: "failed" });
  expect(notificationQuery({ since: "2026-11-01T00:00:00Z" }, now)).toEqual({ since: "2026-11-01T00:00:00Z" });
});

test("a channel that is gone can still be filtered by", () => {
  const [channel] = notificationFields({ channel: "old" }, ["ops"]);
  expect(channel?.options).toEqual(["old", "ops"]);
});

test("times of a link are shown as text", () => {
  const names = notificationFields({ since: "2026-11-01T00:00:00Z", until: "2026-11-02T00:00:00Z" }, []).map(({ name, kind }) => `${name} ${kind}`);
  expect(names.slice(-2)).toEqual(["since text", "until text"]);
});
