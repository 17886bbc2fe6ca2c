import { Link, useNavigate } from "@tanstack/react-router";
import { answer, api, type Schemas } from "../api/client";
import { StateBar } from "../graph/StateBar";
import type { Column } from "../list/columns";
import { DataTable } from "../list/DataTable";
import { usePagedList } from "../list/usePagedList";
import { EmptyState } from "../parts/EmptyState";
import { PageHeader } from "../parts/PageHeader";
import { StateBadge } from "../parts/StatusBadge";
import { EXECUTION_LOOKS, UNKNOWN_LOOK } from "../parts/states";
import { Duration } from "../time/Duration";
import { TimeText } from "../time/TimeText";

type Workflow = Schemas["WorkflowView"];

const COLUMNS: Column<Workflow>[] = [
  {
    id: "name",
    header: "First job",
    width: 220,
    grows: true,
    always: true,
    cell: ({ job_id, name, key }) => (
      <Link to="/workflows/$id" params={{ id: job_id }}>
        {name ?? key ?? job_id}
      </Link>
    ),
  },
  { id: "status", header: "State", width: 130, cell: ({ states }) => <WorkflowState states={states} /> },
  { id: "states", header: "Jobs by state", width: 240, cell: ({ states }) => <StateBar states={states} /> },
  { id: "jobs", header: "Jobs", width: 90, align: "right", cell: ({ jobs, truncated }) => `${jobs.toLocaleString("en")}${truncated ? " +" : ""}` },
  { id: "due", header: "Latest round", width: 120, cell: ({ scheduled_for }) => <TimeText at={scheduled_for} /> },
  { id: "duration", header: "Took", width: 90, align: "right", cell: ({ started_at, finished_at }) => <Duration from={started_at} until={finished_at} /> },
  { id: "task", header: "Its task", width: 150, extra: true, cell: ({ task }) => task },
];

/** Graphs of jobs that depend on each other, each by its first job. */
export default function WorkflowsPage() {
  const navigate = useNavigate();
  const list = usePagedList<Workflow>({
    queryKey: ["workflows", "list"],
    fetchPage: (cursor) => answer(api.GET("/v1/workflows", { params: { query: { limit: 50, ...(cursor ? { cursor } : {}) } } })),
    rowId: ({ job_id }) => job_id,
  });
  return (
    <>
      <PageHeader title="Workflows" sentence="Jobs that run after others." />
      <DataTable
        name="workflows"
        label="Workflows"
        noun="workflow"
        columns={COLUMNS}
        list={list}
        rowId={({ job_id }) => job_id}
        onOpen={({ job_id }) => void navigate({ to: "/workflows/$id", params: { id: job_id } })}
        empty={
          <EmptyState
            title="No workflows yet"
            text="A job that depends on another one runs after it."
            command="tickwork job create --name load --task load --depends-on JOB"
          />
        }
      />
    </>
  );
}

/** What needs a look first says what the workflow is. */
function WorkflowState({ states }: { states: Workflow["states"] }) {
  if (states.failed > 0) return <StateBadge look={EXECUTION_LOOKS.failed} />;
  if (states.running > 0) return <StateBadge look={EXECUTION_LOOKS.running} />;
  if (states.pending > 0) return <StateBadge look={EXECUTION_LOOKS.pending} />;
  if (states.cancelled > 0) return <StateBadge look={EXECUTION_LOOKS.cancelled} />;
  if (states.completed > 0) return <StateBadge look={EXECUTION_LOOKS.completed} />;
  return <StateBadge look={{ ...UNKNOWN_LOOK, word: "Not run yet" }} />;
}
