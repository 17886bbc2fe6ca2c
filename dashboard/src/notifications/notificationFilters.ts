import type { FilterField, Filters } from "../list/FilterBar";

const HOUR = 3_600_000;
const SINCE: Record<string, number> = { "1h": HOUR, "24h": 24 * HOUR, "7d": 7 * 24 * HOUR };

/** The kinds of events that channels can be told of. */
export const TOLD_KINDS = [
  "execution.failed", "execution.recovered", "execution.missed", "execution.retrying", "execution.lost", "execution.late", "execution.slow",
  "execution.skipped", "execution.blocked", "execution.cancelled", "execution.completed", "backfill.ended", "workflow.ended",
  "ping.missing", "ping.failed", "ping.late", "ping.slow", "ping.recovered", "deadletters.exceeded", "deadletters.receded",
  "queue.stuck", "queue.recovered", "breaker.opened", "breaker.closed", "worker.lost", "node.silent", "node.back",
  "commits.lost",
] as const;

const UNTIL: FilterField = { name: "until", kind: "text", label: "Until", width: 200 };

/** The filters to show. A time that a link gave is text; one from the list is a distance from now. */
export function notificationFields(filters: Filters, channels: readonly string[]): FilterField[] {
  const { since, until, channel } = filters;
  const sinceField: FilterField =
    since && !(since in SINCE)
      ? { name: "since", kind: "text", label: "Since", width: 200 }
      : {
          name: "since",
          kind: "choice",
          label: "When",
          options: [
            { value: "1h", label: "in the last hour" },
            { value: "24h", label: "in the last 24 hours" },
            { value: "7d", label: "in the last 7 days" },
          ],
          width: 160,
        };
  return [
    { name: "channel", kind: "choice", label: "Channel", options: channel && !channels.includes(channel) ? [channel, ...channels] : channels, width: 150 },
    { name: "kind", kind: "choice", label: "Kind", options: TOLD_KINDS, width: 180 },
    { name: "status", kind: "choice", label: "State", options: ["waiting", "sending", "sent", "failed"], width: 120 },
    sinceField,
    ...(until ? [UNTIL] : []),
  ];
}

/** The parameters of GET /v1/notifications. */
export function notificationQuery(filters: Filters, now: Date): Record<string, string> {
  const given = Object.entries(filters).filter((each): each is [string, string] => Boolean(each[1]));
  return Object.fromEntries(
    given.map(([name, value]) => {
      const ago = name === "since" ? SINCE[value] : undefined;
      return [name, ago === undefined ? value : new Date(now.getTime() - ago).toISOString()];
    }),
  );
}
