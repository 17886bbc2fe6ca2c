import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { answer, api, type Schemas } from "../api/client";
import { useMay } from "../api/session";
import type { Column } from "../list/columns";
import { DataTable } from "../list/DataTable";
import { FilterBar, type FilterField, type Filters } from "../list/FilterBar";
import { rowsOf } from "../list/rowList";
import { useFilters } from "../list/useFilters";
import { TaskActions } from "../operations/TaskActions";
import { EmptyState } from "../parts/EmptyState";
import { PageHeader } from "../parts/PageHeader";
import { StateBadge } from "../parts/StatusBadge";
import { lookOf, TASK_LOOKS } from "../parts/states";
import { TimeText } from "../time/TimeText";

type TaskView = Schemas["TaskView"];

const FIELDS: FilterField[] = [
  { name: "q", kind: "search", label: "Search", placeholder: "A part of the name" },
  { name: "state", kind: "choice", label: "State", options: ["active", "disabled", "retired"] },
];

const COLUMNS: Column<TaskView>[] = [
  { id: "name", header: "Task", width: 190, grows: true, always: true, cell: ({ name }) => <Link to="/jobs" search={{ task: name }}>{name}</Link> },
  { id: "state", header: "State", width: 190, cell: (task) => <StateBadge look={lookOf(TASK_LOOKS, task.state)} detail={detailOf(task)} /> },
  {
    id: "workers",
    header: "Workers",
    width: 84,
    align: "right",
    cell: ({ name, workers }) => (workers.length > 0 ? <Link to="/workers" search={{ task: name }}>{workers.length}</Link> : "none"),
  },
  { id: "parameters", header: "Parameters", width: 130, cell: ({ parameters }) => parameterNames(parameters) },
  { id: "description", header: "Description", width: 220, grows: true, cell: ({ description }) => description ?? "" },
  { id: "offered", header: "Offered", width: 104, cell: ({ offered_at }) => (offered_at ? <TimeText at={offered_at} /> : "not yet") },
];

const COLUMNS_WITH_ACTIONS: Column<TaskView>[] = [
  ...COLUMNS,
  { id: "actions", header: "", width: 168, always: true, cell: (task) => <TaskActions task={task} /> },
];

/** Who disabled it and why, or what to use instead. */
function detailOf({ state, disabled_by, disabled_reason, replacement }: TaskView): string | undefined {
  if (state === "disabled") return [disabled_by && `by ${disabled_by}`, disabled_reason].filter(Boolean).join(": ");
  return replacement ? `use ${replacement}` : undefined;
}

function parameterNames(schema: Record<string, unknown>): string {
  return Object.keys((schema["properties"] ?? {}) as Record<string, unknown>).join(", ");
}

function matches({ name, state }: TaskView, filters: Filters): boolean {
  const q = (filters["q"] ?? "").toLowerCase();
  return name.toLowerCase().includes(q) && (!filters["state"] || filters["state"] === state);
}

const rowId = ({ name }: TaskView) => name;

export default function TasksPage() {
  const may = useMay("write");
  const [filters, change] = useFilters();
  const list = rowsOf(
    useQuery({
      queryKey: ["tasks", "all"],
      queryFn: async () => (await answer(api.GET("/v1/tasks", {}))).items,
      select: (tasks) => tasks.filter((task) => matches(task, filters)),
    }),
  );
  return (
    <>
      <PageHeader title="Tasks" sentence="The code that jobs run: who offers it, and whether it may run." />
      <FilterBar fields={FIELDS} value={filters} onChange={change} />
      <DataTable
        name="tasks"
        label="Tasks"
        noun="task"
        columns={may ? COLUMNS_WITH_ACTIONS : COLUMNS}
        list={list}
        rowId={rowId}
        empty={
          <EmptyState
            title={filters["q"] || filters["state"] ? "No task matches" : "No tasks yet"}
            text="Tasks show when a worker offers them. One that no worker offers yet can be declared."
            command="tickwork task declare reports.weekly"
          />
        }
      />
    </>
  );
}
