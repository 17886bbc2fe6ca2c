import type { Schemas } from "../../api/client";

export type LogLine = Schemas["LogEntry"];

/** From the least to the most important. */
export const LEVELS = ["debug", "info", "warning", "error"] as const;

export interface LogFilter {
  /** Lines that contain this, in any case. */
  text: string;
  /** Lines of this level or a more important one. */
  level: string | null;
  attempt: number | null;
}

export function filterLines(lines: readonly LogLine[], filter: LogFilter): readonly LogLine[] {
  const wanted = filter.text.trim().toLowerCase();
  const least = filter.level === null ? 0 : rank(filter.level);
  if (!wanted && least === 0 && filter.attempt === null) return lines;
  return lines.filter(
    (line) =>
      (filter.attempt === null || line.attempt === filter.attempt) &&
      (least === 0 || rank(line.level) >= least) &&
      (!wanted || line.text.toLowerCase().includes(wanted)),
  );
}

/** What is printed has no level of its own and counts as info. */
function rank(level: string): number {
  const place = (LEVELS as readonly string[]).indexOf(level.toLowerCase());
  if (place >= 0) return place;
  return level.toLowerCase() === "critical" ? LEVELS.length - 1 : LEVELS.indexOf("info");
}

/** Whether a line should be looked at: how it is drawn. */
export function weight(level: string): "quiet" | "plain" | "warning" | "error" {
  const place = rank(level);
  if (level.toLowerCase() === "debug") return "quiet";
  if (place >= LEVELS.indexOf("error")) return "error";
  return place === LEVELS.indexOf("warning") ? "warning" : "plain";
}

/** As text for the clipboard or a file. */
export function asText(lines: readonly LogLine[]): string {
  return lines.map((line) => `${line.at} ${line.level.toUpperCase().padEnd(7)} [${line.attempt}] ${line.text}`).join("\n") + (lines.length ? "\n" : "");
}

/** Adds lines in their order, each once: a stream that was broken may repeat some. */
export function addLines(known: readonly LogLine[], more: readonly LogLine[]): readonly LogLine[] {
  const last = known.at(-1);
  const fresh = last ? more.filter((line) => line.attempt > last.attempt || (line.attempt === last.attempt && line.line > last.line)) : more;
  return fresh.length ? [...known, ...fresh] : known;
}
