import type { Schemas } from "../../api/client";
import { formatBytes } from "../../operations/formatBytes";
import { formatDuration } from "../../time/formatDuration";

/** What the process of an attempt has used; null for one without. */
export function usageWords(attempt: Pick<Schemas["AttemptView"], "usage"> | undefined): string | null {
  const usage = attempt?.usage;
  return usage ? `${formatDuration(usage.cpu_seconds)} of CPU time, ${formatBytes(usage.peak_memory)} of memory at most` : null;
}
