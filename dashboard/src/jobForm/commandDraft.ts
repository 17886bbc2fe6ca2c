import type { Schemas } from "../api/client";
import { lineOf, variablesOf, wordsOf } from "./commandWords";
import { DraftError } from "./draftError";

/** The command of a job as the form holds it. */
export interface CommandDraft {
  /** Program and arguments, with quotes as in a shell. */
  command: string;
  /** One `NAME=value` per line. */
  env: string;
  cwd: string;
  stdin: string;
  /** Numbers with commas. */
  successCodes: string;
  finalCodes: string;
  maxMemory: string;
  maxCpuTime: string;
  maxOutput: string;
  maxFiles: string;
}

export const NEW_COMMAND: CommandDraft = {
  command: "", env: "", cwd: "", stdin: "", successCodes: "0", finalCodes: "", maxMemory: "", maxCpuTime: "", maxOutput: "", maxFiles: "",
};

const DEFAULT_OUTPUT = 100 * 1024 ** 2;

/** The fields of the request: only what differs from the defaults. Throws DraftError. */
export function commandFields(draft: CommandDraft): Record<string, unknown> {
  const env = variablesOf(draft.env);
  const codes = { success: codesOf("success", draft.successCodes), final: codesOf("final", draft.finalCodes) };
  const isUsual = codes.success.join() === "0" && codes.final.length === 0;
  const limits = {
    ...(draft.maxMemory.trim() ? { memory: draft.maxMemory.trim() } : {}),
    ...(draft.maxCpuTime.trim() ? { cpu_time: draft.maxCpuTime.trim() } : {}),
    ...(draft.maxOutput.trim() ? { output: draft.maxOutput.trim() } : {}),
    ...(draft.maxFiles.trim() ? { files: wholeNumber("process_limits.files", draft.maxFiles) } : {}),
  };
  return {
    command: wordsOf(draft.command),
    ...(Object.keys(env).length > 0 ? { env } : {}),
    ...(draft.cwd.trim() ? { cwd: draft.cwd.trim() } : {}),
    ...(draft.stdin ? { stdin: draft.stdin } : {}),
    ...(isUsual ? {} : { exit_codes: codes }),
    ...(Object.keys(limits).length > 0 ? { process_limits: limits } : {}),
  };
}

export function commandDraft(job: Schemas["JobView"]): CommandDraft {
  const limits = job.process_limits;
  return {
    command: lineOf(job.command ?? []),
    env: Object.entries(job.env ?? {}).map(([name, value]) => `${name}=${value}`).join("\n"),
    cwd: job.cwd ?? "",
    stdin: job.stdin ?? "",
    successCodes: (job.exit_codes?.success ?? [0]).join(", "),
    finalCodes: (job.exit_codes?.final ?? []).join(", "),
    maxMemory: limits?.memory ? String(limits.memory) : "",
    maxCpuTime: limits?.cpu_time ? `${limits.cpu_time}s` : "",
    maxOutput: limits && limits.output !== DEFAULT_OUTPUT ? String(limits.output) : "",
    maxFiles: limits?.files ? String(limits.files) : "",
  };
}

function codesOf(name: string, text: string): number[] {
  const words = text.split(/[\s,]+/).filter(Boolean);
  return words.map((word) => wholeNumber(`exit_codes.${name}`, word));
}

function wholeNumber(path: string, text: string): number {
  const value = Number(text.trim());
  if (!Number.isInteger(value)) throw new DraftError(path, `“${text}” is not a whole number`);
  return value;
}
