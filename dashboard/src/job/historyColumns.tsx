import type { Schemas } from "../api/client";
import type { Column } from "../list/columns";
import { ExecutionLink } from "../parts/links";
import { ExecutionBadge } from "../parts/StatusBadge";
import { Duration } from "../time/Duration";
import { TimeText } from "../time/TimeText";

export type Execution = Schemas["ExecutionView"];

/** The executions of one job: without what they all have in common. */
export const HISTORY_COLUMNS: Column<Execution>[] = [
  { id: "status", header: "Status", width: 214, always: true, cell: (each) => <ExecutionBadge status={each.status} waitingFor={each.waiting_for} /> },
  { id: "scheduled", header: "Due time", width: 130, always: true, cell: (each) => <ExecutionLink id={each.id}><TimeText at={each.scheduled_for} absolute /></ExecutionLink> },
  { id: "trigger", header: "Trigger", width: 90, cell: ({ trigger }) => trigger },
  { id: "started", header: "Started", width: 100, cell: ({ started_at }) => <TimeText at={started_at} /> },
  { id: "duration", header: "Ran for", width: 90, align: "right", cell: (each) => <Duration from={each.started_at} until={each.finished_at} /> },
  { id: "attempt", header: "Attempt", width: 80, align: "right", cell: ({ attempt, max_attempts }) => `${attempt} / ${max_attempts}` },
  { id: "error", header: "Error or reason", width: 260, grows: true, cell: ({ error, reason }) => (error ? `${error.type}: ${error.message}` : reason) },
  { id: "worker", header: "Worker", width: 140, extra: true, cell: ({ worker }) => worker ?? "–" },
  { id: "id", header: "Id", width: 200, extra: true, cell: ({ id }) => <code>{id}</code> },
];
