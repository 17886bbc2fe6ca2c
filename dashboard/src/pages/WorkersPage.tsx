import { Link } from "@tanstack/react-router";
import { answer, api, type Schemas } from "../api/client";
import { useMay } from "../api/session";
import type { Column } from "../list/columns";
import { DataTable } from "../list/DataTable";
import { FilterBar } from "../list/FilterBar";
import { useFilters } from "../list/useFilters";
import { usePagedList } from "../list/usePagedList";
import { DrainWorker } from "../operations/DrainWorker";
import { SlotCells } from "../operations/SlotCells";
import { EmptyState } from "../parts/EmptyState";
import { PageHeader } from "../parts/PageHeader";
import { WorkerBadge } from "../parts/StatusBadge";
import { TimeText } from "../time/TimeText";
import { loadWords, processWords } from "../workers/loadWords";
import { isFiltered, WORKER_FIELDS, workerQuery } from "../workers/workerFilters";

type WorkerView = Schemas["WorkerView"];

const COLUMNS: Column<WorkerView>[] = [
  { id: "name", header: "Worker", width: 150, grows: true, always: true, cell: ({ id, name }) => <Link to="/executions" search={{ worker: id }}>{name}</Link> },
  { id: "status", header: "Status", width: 100, cell: (worker) => <WorkerBadge status={statusOf(worker)} /> },
  { id: "slots", header: "Slots in use", width: 176, cell: ({ holding, slots }) => <SlotCells holding={holding} slots={slots} /> },
  { id: "load", header: "Load", width: 196, cell: ({ load }) => <span data-tip={loadWords(load)}>{loadWords(load)}</span> },
  { id: "host", header: "Host", width: 110, grows: true, cell: ({ host }) => host || "–" },
  { id: "version", header: "Version", width: 80, cell: ({ version }) => version || "–" },
  { id: "queues", header: "Queues", width: 110, grows: true, cell: ({ queues }) => queues.join(", ") || "all" },
  { id: "tasks", header: "Tasks", width: 64, align: "right", cell: ({ tasks }) => tasks.length },
  { id: "heartbeat", header: "Heartbeat", width: 100, cell: ({ heartbeat_at }) => <TimeText at={heartbeat_at} /> },
];

const SILENT_AFTER = 9_000; // milliseconds: three heartbeats

/** Until its lease ends, a worker that sends no heartbeats counts as online. */
function statusOf({ status, heartbeat_at }: WorkerView): string {
  return status !== "offline" && Date.now() - Date.parse(heartbeat_at) > SILENT_AFTER ? "silent" : status;
}

const COMMANDS: Column<WorkerView> = { id: "commands", header: "Commands", width: 160, extra: true, cell: ({ commands }) => commands.join(", ") };
const LABELS: Column<WorkerView> = {
  id: "labels",
  header: "Labels",
  width: 160,
  extra: true,
  cell: ({ labels }) => Object.entries(labels).map(([name, value]) => `${name}=${value}`).join(", "),
};
const PROCESS: Column<WorkerView> = { id: "process", header: "Uses itself", width: 150, extra: true, cell: ({ load }) => processWords(load) };
const COLUMNS_WITH_LABELS = [...COLUMNS, COMMANDS, LABELS, PROCESS];
const COLUMNS_WITH_ACTIONS: Column<WorkerView>[] = [
  ...COLUMNS_WITH_LABELS,
  { id: "actions", header: "", width: 84, always: true, cell: (worker) => worker.status === "online" && <DrainWorker worker={worker} /> },
];

const rowId = ({ id }: WorkerView) => id;

export default function WorkersPage() {
  const may = useMay("admin");
  const [filters, change] = useFilters();
  const query = workerQuery(filters);
  const list = usePagedList<WorkerView>({
    queryKey: ["workers", "list", query],
    fetchPage: (cursor) => answer(api.GET("/v1/workers", { params: { query: { ...query, limit: 100, ...(cursor ? { cursor } : {}) } as never } })),
    rowId,
    refetchInterval: 10_000, // what a worker measures is no event
  });
  return (
    <>
      <PageHeader title="Workers" sentence="The processes that run attempts, and what each of them has." />
      <FilterBar fields={WORKER_FIELDS} value={filters} onChange={change} />
      <DataTable
        name="workers"
        label="Workers"
        noun="worker"
        columns={may ? COLUMNS_WITH_ACTIONS : COLUMNS_WITH_LABELS}
        list={list}
        rowId={rowId}
        empty={<EmptyState title={isFiltered(filters) ? "No worker matches" : "No workers"} text="A worker is a process of yours that runs tasks." command="tickwork worker tasks:app" />}
      />
    </>
  );
}
