import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Column } from "../list/columns";
import { DataTable } from "../list/DataTable";
import { rowsOf } from "../list/rowList";
import { EmptyState } from "../parts/EmptyState";
import { TimeText } from "../time/TimeText";
import type { CalendarFilter } from "./calendarQueries";
import { executionsSearch } from "./executionsSearch";
import type { Cell } from "./heatMap";

/** The heat map as a list: only the parts in which something happened or is due. */
export function CalendarTable({ cells, filter }: { cells: readonly Cell[]; filter: CalendarFilter }) {
  const rows = useMemo(() => cells.filter(({ ran, missed, due }) => ran + missed + due > 0), [cells]);
  const columns = useMemo(() => columnsFor(filter), [filter]);
  return (
    <DataTable
      name="calendar"
      label="Executions by time"
      columns={columns}
      list={rowsOf({ data: rows, error: null, isPending: false, refetch: () => undefined })}
      rowId={({ from }) => String(from)}
      empty={<EmptyState title="Nothing happened and nothing is due here" command="tickwork upcoming" />}
    />
  );
}

function columnsFor(filter: CalendarFilter): Column<Cell>[] {
  return [
    { id: "from", header: "From", width: 160, grows: true, always: true, cell: ({ from }) => <TimeText at={new Date(from).toISOString()} absolute /> },
    {
      id: "ran",
      header: "Ran",
      width: 100,
      align: "right",
      cell: (cell) => (
        <Link to="/executions" search={executionsSearch(cell, filter)}>
          {cell.ran.toLocaleString("en")}
        </Link>
      ),
    },
    { id: "failed", header: "Failed", width: 100, align: "right", cell: ({ failed }) => failed.toLocaleString("en") },
    { id: "missed", header: "Missed", width: 100, align: "right", cell: ({ missed }) => missed.toLocaleString("en") },
    { id: "due", header: "Due", width: 100, align: "right", cell: ({ due }) => due.toLocaleString("en") },
  ];
}
