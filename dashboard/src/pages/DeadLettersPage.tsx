import { getRouteApi, Link } from "@tanstack/react-router";
import { answer, api, type Schemas } from "../api/client";
import { useMay } from "../api/session";
import type { Column } from "../list/columns";
import { DataTable } from "../list/DataTable";
import { FilterBar, type FilterField } from "../list/FilterBar";
import { useFilters } from "../list/useFilters";
import { usePagedList } from "../list/usePagedList";
import { DeadLetterList } from "../operations/DeadLetterList";
import { ErrorGroupActions } from "../operations/ErrorGroupActions";
import { EmptyState } from "../parts/EmptyState";
import { ExecutionLink } from "../parts/links";
import { PageHeader } from "../parts/PageHeader";
import { TimeText } from "../time/TimeText";

type ErrorGroup = Schemas["ErrorGroupView"];

const COLUMNS: Column<ErrorGroup>[] = [
  { id: "cause", header: "Cause", width: 260, grows: true, always: true, cell: (group) => <Cause group={group} /> },
  { id: "dead", header: "Dead letters", width: 110, align: "right", cell: ({ dead_letters }) => dead_letters.toLocaleString("en") },
  { id: "task", header: "Task", width: 150, cell: ({ task }) => <Link to="/executions" search={{ task, status: "failed" }}>{task}</Link> },
  { id: "count", header: "Failures", width: 90, align: "right", cell: ({ count }) => count.toLocaleString("en") },
  { id: "hour", header: "Last hour", width: 90, align: "right", cell: ({ last_hour }) => last_hour.toLocaleString("en") },
  { id: "first", header: "First seen", width: 100, extra: true, cell: ({ first_seen }) => <TimeText at={first_seen} /> },
  { id: "last", header: "Last seen", width: 100, cell: ({ last_seen }) => <TimeText at={last_seen} /> },
  { id: "sample", header: "Latest", width: 140, cell: ({ executions }) => executions[0] && <ExecutionLink id={executions[0]} /> },
];

const COLUMNS_WITH_ACTIONS: Column<ErrorGroup>[] = [
  ...COLUMNS,
  { id: "actions", header: "", width: 170, always: true, cell: (group) => <ErrorGroupActions group={group} /> },
];

const FIELDS: FilterField[] = [
  { name: "view", kind: "choice", label: "One by one, or by cause", options: [{ value: "all", label: "All causes of failures" }, { value: "single", label: "One by one" }], placeholder: "By cause", width: 190 },
  { name: "task", kind: "text", label: "Task" },
  { name: "error", kind: "text", label: "Error type" },
];

const route = getRouteApi("/inside/dead-letters");
const rowId = ({ fingerprint }: ErrorGroup) => fingerprint;

/** What failed for good: one line for each cause, or each execution by itself. */
export default function DeadLettersPage() {
  const { view, ...filters } = route.useSearch();
  const [, change] = useFilters();
  return (
    <>
      <PageHeader title="Dead letters" sentence="Executions that used up their attempts wait here, grouped by cause, until they are redriven or discarded." />
      <FilterBar fields={FIELDS} value={{ ...(view ? { view } : {}), ...filters }} onChange={change} />
      {view === "single" ? <DeadLetterList filters={filters} /> : <Causes filters={filters} all={view === "all"} />}
    </>
  );
}

/** Those that left dead letters, or all: what was retried in time has none. */
function Causes({ filters, all }: { filters: { task?: string; error?: string }; all: boolean }) {
  const may = useMay("write");
  const list = usePagedList<ErrorGroup>({
    queryKey: ["errors", "list", filters],
    fetchPage: (cursor) => answer(api.GET("/v1/errors", { params: { query: { ...filters, limit: 100, ...(cursor ? { cursor } : {}) } } })),
    rowId,
  });
  const rows = all ? list.rows : list.rows.filter(({ dead_letters }) => dead_letters > 0);
  return (
    <DataTable
      name="causes"
      label="Causes of failures"
      noun="cause"
      columns={may ? COLUMNS_WITH_ACTIONS : COLUMNS}
      list={{ ...list, rows }}
      rowId={rowId}
      empty={<EmptyState title={all ? "Nothing has failed" : "No dead letters"} text="What fails for good shows here, one line for each cause." command="tickwork errors list" />}
    />
  );
}

function Cause({ group }: { group: ErrorGroup }) {
  return (
    <span data-tip={group.message ?? group.type}>
      <strong>{group.type}</strong> {group.message}
    </span>
  );
}
