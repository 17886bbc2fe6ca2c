import { expect, test } from "vitest";
import { concernsOf } from "./attention";
import type { Channel, Overview, Ping } from "./overviewTypes";

const now = Date.parse("2026-11-17T12:00:00Z");
const ago = (seconds: number) => new Date(now - seconds * 1000).toISOString();
const queue = (change: object) => ({ name: "mail", paused: false, depth: 5, depth_is_exact: true, oldest_age: 90, ...change });
const cause = (change: object) => ({ fingerprint: "f", type: "E", task: "t", message: null, dead_letters: 0, last_hour: 0, last_seen: ago(10), ...change });
const overview = (change: object) => ({ worst: [], causes: [], breakers: [], queues: [], unserved_queues: [], silent: [], ...change }) as unknown as Overview;

test("when all is well nothing needs attention", () => {
  const queues = [queue({ oldest_age: 2 }), queue({ depth: 0, oldest_age: null })];
  const nodes = [{ id: "n", host: "h", status: "ready", problems: [], seen_at: ago(1) }];
  expect(concernsOf(overview({ queues }), nodes)).toEqual([]);
});

test("what stops everything comes before what fails", () => {
  const given = overview({
    worst: [{ job_id: "j", name: null, key: "nightly", failures_in_a_row: 3, failing_since: ago(90), last_failed_at: ago(5) }],
    causes: [cause({ dead_letters: 2 })],
    breakers: [{ destination: "api.example", state: "open", waiting: 4, reason: "r", since: ago(30) }],
  });
  const found = concernsOf(given, [{ id: "n", host: "h", status: "silent", problems: [], seen_at: ago(60) }]);
  expect(found.map(({ kind }) => kind)).toEqual(["node", "breaker", "job", "cause"]);
  expect(found[2]).toMatchObject({ name: "nightly", failures: 3 });
});

const why = (given: object, unserved: string[]) => concernsOf(overview({ queues: [queue(given)], unserved_queues: unserved }))[0];

test("a queue that waits says why: paused, without a worker, or slow", () => {
  expect(why({ paused: true }, ["mail"])).toMatchObject({ why: "paused" });
  expect(why({}, ["mail"])).toMatchObject({ why: "no worker" });
  expect(why({}, ["other"])).toMatchObject({ why: "slow" });
});

test("a worker without a sign of life is named before its lease ends", () => {
  const silent = [{ id: "w", name: "one", holding: 2, heartbeat_at: ago(11) }];
  expect(concernsOf(overview({ silent }))).toMatchObject([{ kind: "worker", name: "one", holding: 2 }]);
});

test("causes with dead letters come first", () => {
  const found = concernsOf(overview({ causes: [cause({ fingerprint: "retried", last_hour: 9 }), cause({ fingerprint: "dead", dead_letters: 1 })] }));
  expect(found).toMatchObject([{ fingerprint: "dead" }, { fingerprint: "retried" }]);
});

test("what runs elsewhere and stays away is named", () => {
  const pings = [{ name: "backup", status: "missing", failures_in_a_row: 2, failing_since: ago(90) }] as Ping[];
  expect(concernsOf(overview({}), [], pings)).toEqual([{ kind: "ping", name: "backup", status: "missing", failures: 2, at: ago(90) }]);
});

test("a channel that does not receive its notifications is named, unless it is paused", () => {
  const deliveries = { is_failing: true, sent: 1, failed: 0, sending: 1, waiting: 4, last_sent_at: ago(900), error: "Http503: away" };
  const channels = [{ name: "ops", paused: false, deliveries }, { name: "off", paused: true, deliveries }] as Channel[];
  expect(concernsOf(overview({}), [], [], channels)).toEqual([{ kind: "channel", name: "ops", error: "Http503: away", undelivered: 5, at: ago(900) }]);
});
