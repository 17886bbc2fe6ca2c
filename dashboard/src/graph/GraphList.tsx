import { useMemo } from "react";
import type { Column } from "../list/columns";
import { DataTable } from "../list/DataTable";
import { rowsOf } from "../list/rowList";
import { EmptyState } from "../parts/EmptyState";
import { JobLink } from "../parts/links";
import { ExecutionBadge } from "../parts/StatusBadge";
import { Duration } from "../time/Duration";
import { TimeText } from "../time/TimeText";
import { failedFirst, type GraphJob } from "./graphModel";

const COLUMNS: Column<GraphJob>[] = [
  { id: "status", header: "Status", width: 214, always: true, cell: (job) => (job.status ? <ExecutionBadge status={job.status} waitingFor={job.waiting_for} /> : "Not run yet") },
  { id: "name", header: "Job", width: 180, grows: true, always: true, cell: (job) => <JobLink job={{ ...job, id: job.job_id }} /> },
  { id: "task", header: "Task", width: 140, cell: ({ task }) => task },
  { id: "parents", header: "Runs after", width: 90, align: "right", cell: ({ depends_on }) => depends_on.length || "–" },
  { id: "started", header: "Started", width: 100, cell: ({ started_at }) => <TimeText at={started_at} /> },
  { id: "duration", header: "Ran for", width: 90, align: "right", cell: (job) => <Duration from={job.started_at} until={job.finished_at} /> },
];

/** The twin of the graph: every job, failures first. */
export function GraphList({ jobs, onChoose }: { jobs: readonly GraphJob[]; onChoose: (id: string) => void }) {
  const data = useMemo(() => failedFirst(jobs), [jobs]);
  return (
    <DataTable
      name="workflow"
      label="Jobs of this workflow"
      columns={COLUMNS}
      list={rowsOf({ data, error: null, isPending: false, refetch: () => undefined })}
      rowId={({ job_id }) => job_id}
      onOpen={({ job_id }) => onChoose(job_id)}
      total={data.length}
      empty={<EmptyState title="This job depends on no other" />}
    />
  );
}
