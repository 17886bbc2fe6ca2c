import { describe, expect, it } from "vitest";
import { pythonValue, quoted, snippetOf } from "./jobSnippets";
import { toYaml } from "./toYaml";

const fields = {
  name: "Ann's report", task: "reports.weekly", payload: { to: "a@b.c", urgent: true },
  schedule: "0 9 * * MON", timezone: "Europe/Paris", retry: { max_attempts: 3 }, tags: ["billing"],
};

describe("snippetOf", () => {
  it("writes the command with its quotes", () => {
    expect(snippetOf("CLI", fields, "http://x")).toBe(
      [
        "tickwork job create", "--name 'Ann'\\''s report'", "--task reports.weekly", `--payload '{"to":"a@b.c","urgent":true}'`,
        "--schedule '0 9 * * MON'", "--tz Europe/Paris", "--retries 2", "--tag billing",
      ].join(" \\\n  "),
    );
  });

  it("puts a command at the end, after its options", () => {
    const command = { command: ["backup-db", "--full", "a b"], env: { A: "1 2" }, exit_codes: { success: [0, 1], final: [2] }, process_limits: { memory: "1Gi", cpu_time: "60s" }, name: "b" };
    expect(snippetOf("CLI", command, "")).toBe(
      ["tickwork job create", "--env 'A=1 2'", "--success-code 0", "--success-code 1", "--final-code 2", "--max-memory 1Gi", "--max-cpu-time 60s", "--name b", "--command -- backup-db --full 'a b'"].join(" \\\n  "),
    );
  });

  it("names who is told", () => {
    const notify = [{ on: ["failed", "recovered"], to: ["ops"] }, { on: ["late"], to: [] }];
    expect(snippetOf("CLI", { task: "a", notify }, "")).toContain("--notify failed,recovered=ops \\\n  --notify late=");
  });

  it("says how much is kept", () => {
    expect(snippetOf("CLI", { task: "a", retention: { age: "7d", last: 100 } }, "")).toContain("--keep-for 7d \\\n  --keep-last 100");
  });

  it("names what no flag can say", () => {
    const command = snippetOf("CLI", { task: "a", catch_up: { policy: "all" }, retry: { backoff: "fixed" }, schedule: { text: "every day" } }, "");
    expect(command.split("\n")[0]).toBe("# catch_up, retry.backoff, schedule: only by the API; see curl");
  });

  it("writes Python with Python's words", () => {
    expect(snippetOf("Python", fields, "")).toContain('        payload={"to": "a@b.c", "urgent": True},');
  });

  it("writes curl against this server", () => {
    expect(snippetOf("curl", { task: "a" }, "http://127.0.0.1:8080")).toContain("curl -X POST http://127.0.0.1:8080/v1/jobs");
  });
});

it("quotes for the shell only where it must", () => {
  expect([quoted("a.b"), quoted("a b"), quoted("$(x)")]).toEqual(["a.b", "'a b'", "'$(x)'"]);
});

it("knows None", () => {
  expect(pythonValue([null, false, "x"])).toBe('[None, False, "x"]');
});

it("writes YAML that reads back as the same", () => {
  expect(toYaml(fields)).toBe(
    [
      `name: "Ann's report"`, "task: reports.weekly", "payload:", `  to: "a@b.c"`, "  urgent: true", `schedule: "0 9 * * MON"`,
      "timezone: Europe/Paris", "retry:", "  max_attempts: 3", "tags:", "  - billing",
    ].join("\n"),
  );
  expect(toYaml({ a: "yes", b: [], c: {}, d: [{ e: 1, f: 2 }] })).toBe('a: "yes"\nb: []\nc: {}\nd:\n  - e: 1\n    f: 2');
});
