import { Link } from "@tanstack/react-router";
import { answer, api, type Schemas } from "../api/client";
import { useMay } from "../api/session";
import type { Column } from "../list/columns";
import { DataTable } from "../list/DataTable";
import { usePagedList } from "../list/usePagedList";
import { QueueActions } from "../operations/QueueActions";
import { QueueLoad } from "../operations/QueueLoad";
import { EmptyState } from "../parts/EmptyState";
import { PageHeader } from "../parts/PageHeader";
import { StateBadge } from "../parts/StatusBadge";
import { HEALTH_LOOKS, JOB_LOOKS, type StateLook } from "../parts/states";
import { Duration } from "../time/Duration";

type QueueView = Schemas["QueueView"];

const COLUMNS: Column<QueueView>[] = [
  { id: "name", header: "Queue", width: 160, grows: true, always: true, cell: ({ name }) => <Link to="/executions" search={{ queue: name }}>{name}</Link> },
  { id: "state", header: "State", width: 100, cell: (queue) => <StateBadge look={lookOfQueue(queue)} /> },
  { id: "depth", header: "Waiting", width: 84, align: "right", cell: ({ depth, depth_is_exact }) => `${depth_is_exact ? "" : "≈ "}${depth.toLocaleString("en")}` },
  { id: "oldest", header: "Oldest", width: 100, align: "right", cell: ({ oldest_age }) => <Duration seconds={oldest_age} /> },
  { id: "running", header: "Running", width: 100, align: "right", cell: ({ running, max_running }) => `${running} / ${max_running ?? "∞"}` },
  { id: "load", header: "Load", width: 160, cell: (queue) => <QueueLoad queue={queue} /> },
  { id: "rate", header: "Rate", width: 110, align: "right", cell: ({ rate }) => rate ?? "–" },
  { id: "priority", header: "Priority", width: 90, cell: ({ priority }) => priority },
  { id: "workers", header: "Workers at once", width: 120, align: "right", extra: true, cell: ({ max_workers }) => max_workers ?? "∞" },
  { id: "backlog", header: "May wait", width: 100, align: "right", extra: true, cell: ({ max_backlog }) => max_backlog ?? "∞" },
];

const STUCK_AFTER = 60; // seconds

function lookOfQueue({ paused, oldest_age }: QueueView): StateLook {
  if (paused) return JOB_LOOKS.paused;
  return (oldest_age ?? 0) > STUCK_AFTER ? { ...HEALTH_LOOKS.late, word: "Stuck" } : JOB_LOOKS.active;
}

const COLUMNS_WITH_ACTIONS: Column<QueueView>[] = [
  ...COLUMNS,
  { id: "actions", header: "", width: 150, always: true, cell: (queue) => <QueueActions queue={queue} /> },
];

const rowId = ({ name }: QueueView) => name;

export default function QueuesPage() {
  const may = useMay("write");
  const list = usePagedList<QueueView>({
    queryKey: ["queues", "list"],
    fetchPage: (cursor) => answer(api.GET("/v1/queues", { params: { query: { limit: 100, ...(cursor ? { cursor } : {}) } } })),
    rowId,
  });
  return (
    <>
      <PageHeader title="Queues" sentence="What waits, for how long, and how much of it may run at once." />
      <DataTable
        name="queues"
        label="Queues"
        noun="queue"
        columns={may ? COLUMNS_WITH_ACTIONS : COLUMNS}
        list={list}
        rowId={rowId}
        empty={<EmptyState title="No queues yet" text="A queue shows when a job uses it." command="tickwork queue set default --max-running 10" />}
      />
    </>
  );
}
