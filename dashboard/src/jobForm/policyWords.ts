export interface PolicyChoice {
  value: string;
  label: string;
  meaning: string;
}

export const OVERLAP: readonly PolicyChoice[] = [
  { value: "skip", label: "skip", meaning: "The new run is left out and recorded as skipped." },
  { value: "queue", label: "queue", meaning: "The new run waits until the earlier one has ended." },
  { value: "replace", label: "replace", meaning: "The earlier run is cancelled, and the new one starts." },
  { value: "allow", label: "allow", meaning: "Both run at the same time." },
];

export const CATCH_UP: readonly PolicyChoice[] = [
  { value: "latest", label: "latest", meaning: "After an outage, only the latest missed time runs." },
  { value: "all", label: "all", meaning: "After an outage, every missed time runs, oldest first." },
  { value: "skip", label: "skip", meaning: "Missed times do not run. They are recorded as missed." },
];

export const BACKOFF: readonly PolicyChoice[] = [
  { value: "exponential", label: "exponential", meaning: "Each wait is twice the one before." },
  { value: "linear", label: "linear", meaning: "Each wait is longer by the first one." },
  { value: "fixed", label: "fixed", meaning: "All waits are as long as the first." },
];

export const PRIORITY: readonly PolicyChoice[] = [
  { value: "critical", label: "critical", meaning: "Starts before everything else when workers are short." },
  { value: "high", label: "high", meaning: "Starts before normal and low." },
  { value: "normal", label: "normal", meaning: "Starts in the order of due times." },
  { value: "low", label: "low", meaning: "Starts when nothing else waits." },
];

export const ON_WORKER_LOST: readonly PolicyChoice[] = [
  { value: "retry", label: "retry", meaning: "It runs again on another worker. The task may have done part of its work." },
  { value: "fail", label: "fail", meaning: "It fails, for tasks that must never run twice." },
];

const UNITS: Record<string, number> = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400 };
const SHOWN = 4;

/** "One try and 3 retries, after 1 s, 2 s and 4 s." */
export function retryWords(attempts: number, backoff: string, initial: string, longest: string): string {
  if (!Number.isFinite(attempts) || attempts < 1) return "At least one.";
  if (attempts === 1) return "One try, no retries.";
  const retries = attempts - 1;
  const first = secondsIn(initial);
  const most = secondsIn(longest);
  const count = `One try and ${retries} ${retries === 1 ? "retry" : "retries"}`;
  if (first === null || most === null) return `${count}.`;
  const waits = Array.from({ length: Math.min(retries, SHOWN) }, (_, place) => short(Math.min(most, waitOf(backoff, first, place))));
  return `${count}, after ${waits.join(", ")}${retries > SHOWN ? " …" : ""}.`;
}

function waitOf(backoff: string, first: number, place: number): number {
  if (backoff === "fixed") return first;
  return backoff === "linear" ? first * (place + 1) : first * 2 ** place;
}

/** Of "90s", "1h30m" or "12"; null of anything else. */
export function secondsIn(text: string): number | null {
  const words = text.trim().toLowerCase();
  if (/^\d+(\.\d+)?$/.test(words)) return Number(words);
  const parts = [...words.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g)];
  if (parts.length === 0 || parts.map(([whole]) => whole).join("") !== words) return null;
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (UNITS[unit ?? "s"] ?? 1), 0);
}

function short(value: number): string {
  if (value >= 3600 && value % 3600 === 0) return `${value / 3600} h`;
  return value >= 60 && value % 60 === 0 ? `${value / 60} min` : `${value} s`;
}
