import { columnVisibilityFeature, tableFeatures, useTable } from "@tanstack/react-table";
import { useMemo } from "react";
import type { Column } from "./columns";

const features = tableFeatures({ columnVisibilityFeature });

export interface TableModel<Row> {
  /** Those that are shown, in their order. */
  columns: Column<Row>[];
  rows: { id: string; row: Row }[];
}

/** The rows and the shown columns, as TanStack Table computes them. Sorting and filtering are the server's. */
export function useTableModel<Row>(
  columns: readonly Column<Row>[],
  rows: Row[],
  rowId: (row: Row) => string,
  visibility: Record<string, boolean>,
): TableModel<Row> {
  const definitions = useMemo(() => columns.map(({ id, header }) => ({ id, header })), [columns]);
  const table = useTable({
    features,
    columns: definitions,
    data: rows as object[],
    getRowId: (row: object) => rowId(row as Row),
    state: { columnVisibility: visibility },
  });
  const byId = new Map(columns.map((column) => [column.id, column]));
  return {
    columns: table.getVisibleLeafColumns().flatMap(({ id }) => byId.get(id) ?? []),
    rows: table.getRowModel().rows.map(({ id, original }) => ({ id, row: original as Row })),
  };
}
