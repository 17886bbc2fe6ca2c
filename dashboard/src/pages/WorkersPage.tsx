import { Link } from "@tanstack/react-router";
import { answer, api, type Schemas } from "../api/client";
import { useMay } from "../api/session";
import type { Column } from "../list/columns";
import { DataTable } from "../list/DataTable";
import { usePagedList } from "../list/usePagedList";
import { DrainWorker } from "../operations/DrainWorker";
import { SlotCells } from "../operations/SlotCells";
import { EmptyState } from "../parts/EmptyState";
import { PageHeader } from "../parts/PageHeader";
import { WorkerBadge } from "../parts/StatusBadge";
import { TimeText } from "../time/TimeText";

type WorkerView = Schemas["WorkerView"];

const COLUMNS: Column<WorkerView>[] = [
  { id: "name", header: "Worker", width: 200, grows: true, always: true, cell: ({ id, name }) => <Link to="/executions" search={{ worker: id }}>{name}</Link> },
  { id: "status", header: "Status", width: 120, cell: (worker) => <WorkerBadge status={statusOf(worker)} /> },
  { id: "slots", header: "Slots in use", width: 190, cell: ({ holding, slots }) => <SlotCells holding={holding} slots={slots} /> },
  { id: "host", header: "Host", width: 160, cell: ({ host }) => host || "–" },
  { id: "version", header: "Version", width: 90, cell: ({ version }) => version || "–" },
  { id: "queues", header: "Queues", width: 140, cell: ({ queues }) => queues.join(", ") || "all" },
  { id: "tasks", header: "Tasks", width: 80, align: "right", cell: ({ tasks }) => tasks.length },
  { id: "heartbeat", header: "Heartbeat", width: 110, cell: ({ heartbeat_at }) => <TimeText at={heartbeat_at} /> },
];

const SILENT_AFTER = 9_000; // milliseconds: three heartbeats

/** Until its lease ends, a worker that sends no heartbeats counts as online. */
function statusOf({ status, heartbeat_at }: WorkerView): string {
  return status !== "offline" && Date.now() - Date.parse(heartbeat_at) > SILENT_AFTER ? "silent" : status;
}

const LABELS: Column<WorkerView> = {
  id: "labels",
  header: "Labels",
  width: 160,
  extra: true,
  cell: ({ labels }) => Object.entries(labels).map(([name, value]) => `${name}=${value}`).join(", "),
};
const COLUMNS_WITH_LABELS = [...COLUMNS, LABELS];
const COLUMNS_WITH_ACTIONS: Column<WorkerView>[] = [
  ...COLUMNS_WITH_LABELS,
  { id: "actions", header: "", width: 90, always: true, cell: (worker) => worker.status === "online" && <DrainWorker worker={worker} /> },
];

const rowId = ({ id }: WorkerView) => id;

export default function WorkersPage() {
  const may = useMay("admin");
  const list = usePagedList<WorkerView>({
    queryKey: ["workers", "list"],
    fetchPage: (cursor) => answer(api.GET("/v1/workers", { params: { query: { limit: 100, ...(cursor ? { cursor } : {}) } } })),
    rowId,
  });
  return (
    <>
      <PageHeader title="Workers" sentence="The processes that run attempts, and what each of them has." />
      <DataTable
        name="workers"
        label="Workers"
        noun="worker"
        columns={may ? COLUMNS_WITH_ACTIONS : COLUMNS_WITH_LABELS}
        list={list}
        rowId={rowId}
        empty={<EmptyState title="No workers" text="A worker is a process of yours that runs tasks." command="tickwork worker tasks:app" />}
      />
    </>
  );
}
