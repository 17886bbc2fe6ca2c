import { Link } from "@tanstack/react-router";
import type { Schemas } from "../api/client";
import { OutcomeStrip } from "../jobs/OutcomeStrip";
import type { RecentRun } from "../jobs/outcomeBars";
import type { Column } from "../list/columns";
import { PING_RUN_LOOKS } from "../parts/states";
import { PingBadge } from "../parts/StatusBadge";
import { Duration } from "../time/Duration";
import { ScheduleWords, zoneOf } from "../time/ScheduleWords";
import { TimeText } from "../time/TimeText";

export type Ping = Schemas["PingView"];

export const PING_COLUMNS: Column<Ping>[] = [
  {
    id: "name",
    header: "Ping",
    width: 150,
    grows: true,
    always: true,
    cell: ({ name }) => (
      <Link to="/pings/$name" params={{ name }}>
        {name}
      </Link>
    ),
  },
  { id: "status", header: "State", width: 160, cell: (ping) => <PingBadge status={ping.status} failures={ping.failures_in_a_row} /> },
  { id: "strip", header: "Last 30 runs", width: 176, cell: ({ recent_runs }) => <OutcomeStrip runs={stripOf(recent_runs)} /> },
  { id: "schedule", header: "Expected", width: 250, grows: true, cell: (ping) => <ScheduleWords words={ping.schedule_words} schedule={ping.schedule} /> },
  { id: "next", header: "Next", width: 138, cell: (ping) => <TimeText at={ping.expected_at} jobZone={zoneOf(ping.schedule)} /> },
  { id: "grace", header: "Grace", width: 80, align: "right", cell: ({ grace }) => <Duration seconds={grace} /> },
  { id: "heard", header: "Last success", width: 112, cell: (ping) => <TimeText at={ping.last_success_at} jobZone={zoneOf(ping.schedule)} /> },
  { id: "running", header: "Running since", width: 112, extra: true, cell: ({ started_at }) => <TimeText at={started_at} /> },
  { id: "description", header: "Description", width: 220, grows: true, extra: true, cell: ({ description }) => description ?? "–" },
  { id: "created", header: "Created", width: 110, extra: true, cell: ({ created_at }) => <TimeText at={created_at} /> },
];

/** The runs of a ping as the strip of a job draws them. */
export function stripOf(runs: readonly Schemas["PingRunSummary"][]): RecentRun[] {
  return runs.map(({ number, outcome, ended_at, run_time }) => ({
    id: String(number),
    status: outcome,
    scheduled_for: ended_at,
    duration: run_time,
    look: PING_RUN_LOOKS[outcome],
  }));
}
