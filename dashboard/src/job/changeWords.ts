import { JOB_LOOKS, lookOf, type StateLook, UNKNOWN_LOOK } from "../parts/states";

const LOOKS: Record<string, StateLook> = {
  created: { ...JOB_LOOKS.active, word: "Created" },
  changed: { ...UNKNOWN_LOOK, shape: "lines", word: "Changed" },
  paused: { ...JOB_LOOKS.paused, word: "Paused" },
  resumed: { ...JOB_LOOKS.active, word: "Resumed" },
  cancelled: { ...JOB_LOOKS.cancelled, word: "Cancelled" },
  failed: { ...JOB_LOOKS.failed, word: "Failed" },
};

export function changeLook(kind: string): StateLook {
  return lookOf(LOOKS, kind);
}

/** The value of a field as one would write it: texts as they are, everything else as JSON. */
export function valueWords(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  return typeof value === "string" ? value : JSON.stringify(value);
}
