import type { Schemas } from "../api/client";
import type { Column } from "../list/columns";
import { ExecutionLink, JobLink } from "../parts/links";
import { ExecutionBadge } from "../parts/StatusBadge";
import { TimeText } from "../time/TimeText";
import { AttemptDots } from "./AttemptDots";
import { WaitAndRun } from "./WaitAndRun";

export type Execution = Schemas["ExecutionView"];

export const EXECUTION_COLUMNS: Column<Execution>[] = [
  { id: "status", header: "Status", width: 170, always: true, cell: (each) => <ExecutionBadge status={each.status} waitingFor={each.waiting_for} /> },
  { id: "id", header: "Execution", width: 150, always: true, cell: ({ id }) => <ExecutionLink id={id} /> },
  { id: "task", header: "Task", width: 130, grows: true, cell: ({ task }) => task },
  { id: "job", header: "Job", width: 80, cell: ({ job_id }) => <JobLink job={{ id: job_id }} /> },
  { id: "due", header: "Due", width: 100, cell: ({ due_at }) => <TimeText at={due_at} /> },
  { id: "ran", header: "Waited, ran", width: 140, cell: (each) => <WaitAndRun execution={each} /> },
  { id: "attempts", header: "Attempts", width: 90, cell: ({ attempt, max_attempts }) => <AttemptDots attempt={attempt} most={max_attempts} /> },
  { id: "error", header: "Error or reason", width: 200, grows: true, cell: ({ error, reason }) => error?.message.split("\n", 1)[0] ?? reason },
  { id: "trigger", header: "Trigger", width: 90, extra: true, cell: ({ trigger }) => trigger },
  { id: "worker", header: "Worker", width: 90, extra: true, cell: ({ worker }) => worker },
  { id: "scheduled", header: "Scheduled for", width: 130, extra: true, cell: ({ scheduled_for }) => <TimeText at={scheduled_for} absolute /> },
  { id: "started", header: "Started", width: 100, extra: true, cell: ({ started_at }) => <TimeText at={started_at} /> },
  { id: "finished", header: "Ended", width: 100, extra: true, cell: ({ finished_at }) => <TimeText at={finished_at} /> },
];
