import { describe, expect, it } from "vitest";
import type { Schemas } from "../api/client";
import { DraftError, draftOf, headersOf, NEW_DRAFT, requestOf, seconds } from "./jobDraft";
import { patchOf } from "./jobPatch";

const draft = { ...NEW_DRAFT, name: "etl", task: "tasks.etl" };

const stored = {
  id: "j1", name: "etl", key: null, task: "tasks.etl", http: null, payload: { a: 1 }, tags: ["x"],
  schedule: { cron: "0 9 * * 1", timezone: "Europe/Paris" }, queue: "default", priority: "normal", timeout: 300,
  retry: { max_attempts: 4, backoff: "exponential", initial: 1, max: 3600, factor: 2, jitter: 0.2, only_on: [], never_on: [] },
  overlap: "skip", catch_up: { policy: "latest", within: 3600, max: 100 }, on_worker_lost: "retry", depends_on: [],
  notify: [{ on: ["failed"], to: ["ops"] }],
} as unknown as Schemas["JobView"];

describe("requestOf", () => {
  it("says only what differs from the defaults", () => {
    expect(requestOf(draft)).toEqual({ name: "etl", task: "tasks.etl", schedule: "every day at 09:00" });
  });

  it("says that a task nobody has offered is waited for, and keeps it in a copy", () => {
    expect(requestOf({ ...draft, awaitsTask: true })["unknown_task"]).toBe("wait");
    expect(draftOf({ ...stored, unknown_task: "wait" }).awaitsTask).toBe(true);
  });

  it("makes an object of a schedule with days off", () => {
    expect(requestOf({ ...draft, timezone: "Europe/Paris", weekendsOff: true, holidays: ["FR"] })).toMatchObject({
      schedule: { text: "every day at 09:00", exclude: { weekends: true, holidays: ["FR"] } },
      timezone: "Europe/Paris",
    });
  });

  it("has no schedule for a job that runs now", () => {
    expect(requestOf({ ...draft, schedule: " " })).not.toHaveProperty("schedule");
  });

  it("names the field of a payload that is no JSON", () => {
    expect(() => requestOf({ ...draft, payload: "{a" })).toThrow(DraftError);
  });

  it("reads the headers of an HTTP call", () => {
    const http = { ...draft, kind: "http" as const, url: "http://127.0.0.1/x", headers: "X-A: 1\n\nX-B: a:b" };
    expect(requestOf(http)["http"]).toEqual({ url: "http://127.0.0.1/x", headers: { "X-A": "1", "X-B": "a:b" } });
    expect(() => headersOf("no colon")).toThrow("colon");
  });

  it("says that a target reports later, and keeps it in a copy", () => {
    const http = { url: "http://127.0.0.1/x", method: "POST", headers: {}, completion: "callback" };
    const copied = draftOf({ ...stored, task: null, http } as unknown as Schemas["JobView"]);
    expect(requestOf(copied)["http"]).toEqual({ url: "http://127.0.0.1/x", completion: "callback" });
    expect(patchOf(copied, { ...copied, completion: "answer" })).toEqual({ http: { url: "http://127.0.0.1/x", completion: null } });
  });

  it("keeps in a copy how often a target reports, and that it gets the results of parents", () => {
    const later = { completion: "callback", heartbeat: 300, send_parents: true };
    const copied = copyOf({ ...later, poll: null });
    expect(requestOf(copied)["http"]).toEqual({ url: "http://127.0.0.1/x", ...later, heartbeat: "5m" });
    expect(patchOf(copied, { ...copied, heartbeat: "" })).toMatchObject({ http: { heartbeat: null } });
  });

  it("keeps in a copy how its status URL is asked", () => {
    const poll = { url_from: "location", every: "30s", until: { path: "body.state", succeeded: ["done"], failed: [] } };
    const copied = copyOf({ completion: "answer", poll });
    expect(requestOf(copied)["http"]).toEqual({ url: "http://127.0.0.1/x", poll });
    expect(requestOf({ ...copied, poll: "1m" })["http"]).toMatchObject({ poll: { every: "1m" } });
    expect(() => requestOf({ ...copied, poll: "{" })).toThrow(DraftError);
    expect(patchOf(copied, { ...copied, completion: "answer" })).toMatchObject({ http: { poll: null } });
  });
});

function copyOf(later: object) {
  const http = { url: "http://127.0.0.1/x", method: "POST", headers: {}, ...later };
  return draftOf({ ...stored, task: null, http } as unknown as Schemas["JobView"]);
}

describe("a command", () => {
  const command = {
    ...stored, task: null, payload: null, command: ["backup-db", "--full", "a b"], env: { BUCKET: "b", TOKEN: "***" }, cwd: "/srv", stdin: null,
    exit_codes: { success: [0, 1], final: [2] }, process_limits: { memory: 1024 ** 3, cpu_time: 60, output: 100 * 1024 ** 2, files: null },
  } as unknown as Schemas["JobView"];

  it("is read into the form and written again", () => {
    const read = draftOf(command);
    expect([read.kind, read.command, read.env]).toEqual(["command", "backup-db --full 'a b'", "BUCKET=b\nTOKEN=***"]);
    expect(requestOf(read)).toMatchObject({
      command: ["backup-db", "--full", "a b"], env: { BUCKET: "b", TOKEN: "***" }, cwd: "/srv", exit_codes: { success: [0, 1], final: [2] },
      process_limits: { memory: String(1024 ** 3), cpu_time: "60s" },
    });
    expect(patchOf(read, { ...read, maxMemory: "" })).toEqual({ process_limits: { cpu_time: "60s", memory: null } });
  });

  it("has only its command, if the rest is as usual", () => {
    expect(requestOf({ ...NEW_DRAFT, kind: "command", command: "true", schedule: "" })).toEqual({ command: ["true"] });
  });

  it("takes the place of a task", () => {
    const before = draftOf(stored);
    expect(patchOf(before, { ...before, kind: "command", command: "true" })).toEqual({ task: null, command: ["true"] });
  });
});

describe("patchOf", () => {
  it("is empty when nothing changed", () => {
    expect(patchOf(draftOf(stored), draftOf(stored))).toEqual({});
  });

  it("has what changed, and null for what is gone", () => {
    const before = draftOf(stored);
    const after = { ...before, name: "etl 2", payload: '{"b": 2}', tags: [] };
    expect(patchOf(before, after)).toEqual({ name: "etl 2", payload: { b: 2, a: null }, tags: null });
  });
});

describe("draftOf", () => {
  it("keeps who is told, and tells what was changed of it", () => {
    const before = draftOf(stored);
    expect(before.notify).toEqual([{ on: ["failed"], to: ["ops"] }]);
    expect(patchOf(before, { ...before, notify: [] })).toEqual({ notify: null });
  });

  it("shows a cron schedule as text with its zone", () => {
    expect(draftOf(stored)).toMatchObject({ schedule: "0 9 * * 1", timezone: "Europe/Paris", scheduleJson: "" });
  });

  it("keeps what a job needs of those it runs after", () => {
    const depends_on = ["j1", { job: "j2", on: "any outcome" }, { job: "j3", on: "failure" }, { job: "j4", on: "success", when: { exists: true } }];
    const edited = draftOf({ ...stored, depends_on } as unknown as Schemas["JobView"]);
    expect(edited.dependsOn).toEqual(["j1", "j2:any", "j3:failure", JSON.stringify(depends_on[3])]);
    expect(requestOf(edited)["depends_on"]).toEqual(depends_on);
  });

  it("keeps what the builder does not know as JSON", () => {
    const odd = { ...stored, schedule: { any: [{ every: 60 }] } } as unknown as Schemas["JobView"];
    expect(JSON.parse(draftOf(odd).scheduleJson)).toEqual({ any: [{ every: 60 }] });
  });
});

it("writes durations in the largest unit that divides them", () => {
  expect([300, 5400, 86_400, 0.5, 90].map(seconds)).toEqual(["5m", "90m", "1d", "0.5s", "90s"]);
});
