import { Skeleton } from "@mantine/core";
import { Problem } from "../parts/Problem";
import type { Column } from "./columns";
import classes from "./DataTable.module.css";
import type { RowList } from "./rowList";

interface SimpleTableProps<Row> {
  /** What it lists, for screen readers. */
  label: string;
  columns: readonly Column<Row>[];
  list: RowList<Row>;
  rowId: (row: Row) => string;
  empty: React.ReactNode;
}

/** A table of few rows, as high as they are. For many, or for choosing among them, there is DataTable. */
export function SimpleTable<Row>({ label, columns, list, rowId, empty }: SimpleTableProps<Row>) {
  if (list.error && list.rows.length === 0) return <Problem error={list.error} onRetry={list.retry} />;
  if (list.isLoading) return <Skeleton height={120} />;
  if (list.rows.length === 0) return <>{empty}</>;
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
    <div className={classes.scroller} data-simple role="region" aria-label={label} tabIndex={0}>
      <table style={{ minWidth: columns.reduce((sum, { width }) => sum + width, 0) }}>
        <colgroup>
          {columns.map((column) => (
            <col key={column.id} style={column.grows ? undefined : { width: column.width }} />
          ))}
        </colgroup>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.id} scope="col" data-align={column.align}>
                {column.header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {list.rows.map((row) => (
            <tr key={rowId(row)}>
              {columns.map((column) => (
                <td key={column.id} data-align={column.align}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
