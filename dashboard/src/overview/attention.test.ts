import { expect, test } from "vitest";
import { concernsOf } from "./attention";
import type { Breaker, ErrorGroup, Overview, Queue, Worker } from "./overviewTypes";

const now = Date.parse("2026-11-17T12:00:00Z");
const ago = (seconds: number) => new Date(now - seconds * 1000).toISOString();
const queue = (change: object) => ({ name: "mail", paused: false, depth: 5, depth_is_exact: true, oldest_age: 90, ...change }) as Queue;
const worker = (change: object) => ({ id: "w", name: "one", status: "online", queues: [], holding: 2, heartbeat_at: ago(1), ...change }) as unknown as Worker;
const cause = (change: object) => ({ fingerprint: "f", type: "E", task: "t", message: null, dead_letters: 0, last_hour: 0, last_seen: ago(10), ...change }) as ErrorGroup;

test("when all is well nothing needs attention", () => {
  const signs = {
    now,
    errors: [cause({ last_seen: ago(9000) })],
    breakers: [{ state: "closed" } as Breaker],
    queues: [queue({ oldest_age: 2 }), queue({ depth: 0, oldest_age: null })],
    workers: [worker({}), worker({ status: "offline", heartbeat_at: ago(900) })],
    nodes: [{ id: "n", host: "h", status: "ready", problems: [], seen_at: ago(1) }],
  };
  expect(concernsOf(signs)).toEqual([]);
});

test("what stops everything comes before what fails", () => {
  const overview = { worst: [{ job_id: "j", name: null, key: "nightly", failures_in_a_row: 3, failing_since: ago(90), last_failed_at: ago(5) }] } as Overview;
  const found = concernsOf({
    now,
    overview,
    errors: [cause({ dead_letters: 2 })],
    breakers: [{ destination: "api.example", state: "open", waiting: 4, reason: "r", since: ago(30) } as Breaker],
    nodes: [{ id: "n", host: "h", status: "silent", problems: [], seen_at: ago(60) }],
  });
  expect(found.map(({ kind }) => kind)).toEqual(["node", "breaker", "job", "cause"]);
  expect(found[2]).toMatchObject({ name: "nightly", failures: 3 });
});

const why = (given: object, workers: Worker[]) => concernsOf({ now, queues: [queue(given)], workers })[0];

test("a queue that waits says why: paused, without a worker, or slow", () => {
  expect(why({ paused: true }, [worker({})])).toMatchObject({ why: "paused" });
  expect(why({}, [worker({ queues: ["other"] })])).toMatchObject({ why: "no worker" });
  expect(why({}, [worker({ status: "draining" })])).toMatchObject({ why: "no worker" });
  expect(why({}, [worker({ queues: ["mail"] })])).toMatchObject({ why: "slow" });
});

test("a worker without a sign of life is named before its lease ends", () => {
  expect(concernsOf({ now, workers: [worker({ heartbeat_at: ago(11) })] })).toMatchObject([{ kind: "worker", name: "one", holding: 2 }]);
});

test("causes with dead letters come first, and old ones without any are left out", () => {
  const found = concernsOf({ now, errors: [cause({ fingerprint: "retried", last_hour: 9 }), cause({ fingerprint: "dead", dead_letters: 1 })] });
  expect(found).toMatchObject([{ fingerprint: "dead" }, { fingerprint: "retried" }]);
});
