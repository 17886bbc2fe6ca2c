import { lineOf } from "./commandWords";
import { dependencyText, type JobFields } from "./jobDraft";
import { toYaml } from "./toYaml";

export const SNIPPETS = ["CLI", "curl", "Python", "JSON", "YAML"] as const;
export type SnippetKind = (typeof SNIPPETS)[number];

/** The same job in another notation, to copy. */
export function snippetOf(kind: SnippetKind, fields: JobFields, origin: string): string {
  switch (kind) {
    case "CLI":
      return cliOf(fields);
    case "curl":
      return `curl -X POST ${origin}/v1/jobs \\\n  -H "Authorization: Bearer $TICKWORK_API_KEY" \\\n  -H "Content-Type: application/json" \\\n  -d ${quoted(JSON.stringify(fields))}`;
    case "Python":
      return pythonOf(fields);
    case "JSON":
      return JSON.stringify(fields, null, 2);
    case "YAML":
      return toYaml(fields);
  }
}

const FLAGS: Record<string, string> = {
  name: "--name", key: "--key", task: "--task", schedule: "--schedule", timezone: "--tz", queue: "--queue", priority: "--priority",
  timeout: "--timeout", warn_after: "--warn-after", start_within: "--start-within", deadline: "--deadline", overlap: "--overlap", on_worker_lost: "--on-worker-lost", description: "--description", owner: "--owner",
  heartbeat_url: "--heartbeat-url", cwd: "--cwd", stdin: "--stdin",
};

/** The command; where no flag says a field, a comment names it. */
function cliOf(fields: JobFields): string {
  const parts = ["tickwork job create"];
  const unsaid: string[] = [];
  const { command: words, ...others } = fields;
  for (const [name, value] of Object.entries(others)) {
    const flag = FLAGS[name];
    if (flag && typeof value === "string") parts.push(`${flag} ${quoted(value)}`);
    else parts.push(...(LONG_FLAGS[name]?.(value, unsaid) ?? (unsaid.push(name), [])));
  }
  if (words) parts.push(`--command -- ${lineOf(words as string[])}`);
  const command = parts.join(" \\\n  ");
  return unsaid.length > 0 ? `# ${unsaid.join(", ")}: only by the API; see curl\n${command}` : command;
}

const LONG_FLAGS: Record<string, (value: unknown, unsaid: string[]) => string[]> = {
  payload: (value) => [`--payload ${quoted(JSON.stringify(value))}`],
  tags: (value) => (value as string[]).map((tag) => `--tag ${quoted(tag)}`),
  depends_on: (value) => (value as unknown[]).map((parent) => `--depends-on ${quoted(dependencyText(parent))}`),
  http: (value) => {
    const { url, method, headers = {}, ...target } = value as { url: string; method?: string; headers?: Record<string, string> } & Target;
    const lines = Object.entries(headers).map(([name, text]) => `--header ${quoted(`${name}: ${text}`)}`);
    return [`--http ${quoted(url)}`, ...(method ? [`--method ${method}`] : []), ...targetFlags(target), ...lines];
  },
  env: (value) => Object.entries(value as Record<string, string>).map(([name, text]) => `--env ${quoted(`${name}=${text}`)}`),
  exit_codes: (value) => {
    const { success, final } = value as { success: number[]; final: number[] };
    return [...success.map((code) => `--success-code ${code}`), ...final.map((code) => `--final-code ${code}`)];
  },
  process_limits: (value) => Object.entries(value as Record<string, string | number>).map(([name, limit]) => `--max-${name.replace("_", "-")} ${limit}`),
  notify: (value) => (value as { on: string[]; to: string[] }[]).map(({ on, to }) => `--notify ${quoted(`${on.join(",")}=${to.join(",")}`)}`),
  retention: (value) => {
    const { age, last } = value as { age?: string; last?: number };
    return [...(age ? [`--keep-for ${quoted(age)}`] : []), ...(last ? [`--keep-last ${last}`] : [])];
  },
  retry: (value, unsaid) => {
    const { max_attempts, ...others } = value as { max_attempts?: number };
    unsaid.push(...Object.keys(others).map((name) => `retry.${name}`));
    return max_attempts === undefined ? [] : [`--retries ${max_attempts - 1}`];
  },
};

interface Target {
  completion?: string;
  heartbeat?: string;
  poll?: unknown;
  send_parents?: boolean;
}

function targetFlags({ completion, heartbeat, poll, send_parents }: Target): string[] {
  return [
    ...(completion ? [`--completion ${completion}`] : []),
    ...(heartbeat ? [`--target-heartbeat ${heartbeat}`] : []),
    ...(poll ? [`--poll ${quoted(JSON.stringify(poll))}`] : []),
    ...(send_parents ? ["--send-parents"] : []),
  ];
}

function pythonOf(fields: JobFields): string {
  const lines = Object.entries(fields).map(([name, value]) => `        ${name}=${pythonValue(value)},`);
  return ["from tickwork import Client", "", "with Client() as client:", "    job = client.create_job(", ...lines, "    )", "    print(job.id, job.next_run_at)"].join("\n");
}

export function pythonValue(value: unknown): string {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(", ")}]`;
  if (typeof value === "object") {
    return `{${Object.entries(value as object).map(([name, each]) => `${JSON.stringify(name)}: ${pythonValue(each)}`).join(", ")}}`;
  }
  return JSON.stringify(value);
}

/** For a POSIX shell. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
