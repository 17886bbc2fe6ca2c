import type { Schemas } from "../api/client";
import type { Column } from "../list/columns";
import { ExecutionLink, JobLink } from "../parts/links";
import { ExecutionBadge } from "../parts/StatusBadge";
import { TimeText } from "../time/TimeText";
import { AttemptDots } from "./AttemptDots";
import { WaitAndRun } from "./WaitAndRun";

export type Execution = Schemas["ExecutionView"];

export const EXECUTION_COLUMNS: Column<Execution>[] = [
  { id: "status", header: "Status", width: 176, always: true, cell: (each) => <ExecutionBadge status={each.status} waitingFor={each.waiting_for} /> },
  { id: "job", header: "Job", width: 190, grows: true, cell: ({ job_id, job_name }) => <JobLink job={{ id: job_id, name: job_name }} /> },
  { id: "id", header: "Execution", width: 146, always: true, cell: ({ id }) => <ExecutionLink id={id} /> },
  { id: "task", header: "Task", width: 140, cell: ({ task }) => task },
  { id: "due", header: "Due", width: 100, cell: ({ due_at }) => <TimeText at={due_at} /> },
  { id: "ran", header: "Waited, ran", width: 140, cell: (each) => <WaitAndRun execution={each} /> },
  { id: "attempts", header: "Attempts", width: 84, cell: ({ attempt, max_attempts }) => <AttemptDots attempt={attempt} most={max_attempts} /> },
  { id: "error", header: "Error or reason", width: 170, grows: true, cell: ({ error, reason }) => error?.message.split("\n", 1)[0] ?? reason },
  { id: "trigger", header: "Trigger", width: 90, extra: true, cell: ({ trigger }) => trigger },
  { id: "worker", header: "Worker", width: 90, extra: true, cell: ({ worker }) => worker },
  { id: "scheduled", header: "Scheduled for", width: 130, extra: true, cell: ({ scheduled_for }) => <TimeText at={scheduled_for} absolute /> },
  { id: "started", header: "Started", width: 100, extra: true, cell: ({ started_at }) => <TimeText at={started_at} /> },
  { id: "finished", header: "Ended", width: 100, extra: true, cell: ({ finished_at }) => <TimeText at={finished_at} /> },
];
