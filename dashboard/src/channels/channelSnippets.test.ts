import { describe, expect, it } from "vitest";
import { channelSnippetOf } from "./channelSnippets";

describe("channelSnippetOf", () => {
  it("writes the command, which reads the secret", () => {
    const fields = { kind: "slack" as const, url: "https://hooks.slack.com/services/T/B/secret", severity: "error", quiet: { from: "22:00", to: "07:00", except: "error" } };
    expect(channelSnippetOf("CLI", "ops", fields, "")).toBe(
      ["tickwork channel set ops", "--kind slack", "--url -", "--severity error", "--quiet 22:00-07:00", "--quiet-except error"].join(" \\\n  ") + "\n# reads the secret from stdin",
    );
  });

  it("shows the URL of a webhook, which is none", () => {
    expect(channelSnippetOf("CLI", "hook", { kind: "webhook", url: "https://a.example/hook" }, "")).toBe(
      "tickwork channel set hook \\\n  --kind webhook \\\n  --url https://a.example/hook",
    );
  });

  it("names what is not typed yet", () => {
    expect(channelSnippetOf("CLI", "", { kind: "webhook", url: "" }, "")).toBe("tickwork channel set NAME \\\n  --kind webhook \\\n  --url URL");
  });

  it("names a mail server by its flags", () => {
    const fields = { kind: "email" as const, to: ["a@example.com"], smtp: { host: "mail", password: "p" } };
    expect(channelSnippetOf("CLI", "team", fields, "")).toContain("--to a@example.com \\\n  --smtp-host mail \\\n  --smtp-password -");
  });

  it("writes curl with the secret as a variable, and nothing else for the shell to replace", () => {
    const command = channelSnippetOf("curl", "ops", { kind: "pagerduty", routing_key: "s3cret", template: { title: "`x` $HOME" } }, "http://h");
    expect(command).toContain("curl -X PUT http://h/v1/channels/ops");
    expect(command).toContain('"routing_key": "$ROUTING_KEY"');
    expect(command).toContain('"title": "\\`x\\` \\$HOME"');
    expect(command).not.toContain("s3cret");
  });
});
