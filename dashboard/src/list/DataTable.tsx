import { useRef } from "react";
import { Problem } from "../parts/Problem";
import { ColumnChooser } from "./ColumnChooser";
import { type Column, useShownColumns } from "./columns";
import classes from "./DataTable.module.css";
import { SelectionBar } from "./SelectionBar";
import { isEmpty, NOTHING, type Selection } from "./selection";
import { TableBody } from "./TableBody";
import { TableHead } from "./TableHead";
import { useRowKeys } from "./useRowKeys";
import { type TableModel, useTableModel } from "./useTableModel";
import { useVirtualRows } from "./useVirtualRows";
import type { RowList } from "./rowList";

export interface DataTableProps<Row> {
  /** Under which the browser remembers its columns. */
  name: string;
  /** What it lists, for screen readers: "Jobs". */
  label: string;
  /** What a row is, for the count of them: "job". */
  noun?: string;
  /** At module scope or memoized. */
  columns: readonly Column<Row>[];
  list: RowList<Row>;
  rowId: (row: Row) => string;
  /** Opens a row: by a click beside its links, or by Enter. */
  onOpen?: (row: Row) => void;
  sort?: string | undefined;
  onSort?: (sort: string | undefined) => void;
  selection?: Selection;
  onSelect?: (selection: Selection) => void;
  /** Buttons for what is selected. */
  bulkActions?: React.ReactNode;
  /** How many rows match the filter, if known: for "select all 1,204 matching". */
  total?: number | null;
  /** Shown when there are no rows: an EmptyState. */
  empty: React.ReactNode;
  /** Left of the column chooser, instead of the count of rows. */
  toolbar?: React.ReactNode;
  /** Whether j, k, x and Enter act on it: one table of a page. */
  hasKeys?: boolean;
}

/** A table of any length: only the rows in sight are drawn. It scrolls by itself, as high as the window allows. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { name, label, columns, list, rowId, empty, hasKeys = true, selection = NOTHING } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const shown = useShownColumns(name, columns);
  const model = useTableModel(columns, list.rows, rowId, shown.visibility);
  const virtual = useVirtualRows(scroller, list);
  const keys = useRowKeys({ ...props, selection, scrollTo: virtual.scrollTo, enabled: hasKeys });
  const isEmptyList = !list.isLoading && !list.error && list.rows.length === 0;
  return (
    <section className={classes.table} aria-label={label} aria-busy={list.isLoading || list.isOld}>
      {!isEmptyList && (
        <div className={classes.bar}>
          {props.onSelect && !isEmpty(selection) ? (
            <SelectionBar {...props} selection={selection} onSelect={props.onSelect} />
          ) : (
            <div className={classes.toolbar}>{props.toolbar ?? rowCount(list, props.total, props.noun ?? "row")}</div>
          )}
          <ColumnChooser columns={columns} shown={shown} />
        </div>
      )}
      {Boolean(list.error) && (
        <div className={classes.problem}>
          <Problem error={list.error} onRetry={list.retry} />
        </div>
      )}
      {isEmptyList ? (
        empty
      ) : (
        <div
          ref={scroller}
          className={classes.scroller}
          data-old={list.isOld || undefined}
          // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
          tabIndex={0}
          role="region"
          aria-label={`${label}, scrolls`}
          style={virtual.style}
        >
          {list.fresh > 0 && <FreshPill count={list.fresh} onShow={() => virtual.toTop(list.showFresh)} />}
          <table style={{ minWidth: minimumWidth(model, Boolean(props.onSelect)) }} aria-rowcount={props.total ?? -1}>
            <TableHead {...props} model={model} selection={selection} />
            <TableBody {...props} model={model} selection={selection} virtual={virtual} keys={keys} />
          </table>
        </div>
      )}
    </section>
  );
}

function FreshPill({ count, onShow }: { count: number; onShow: () => void }) {
  return (
    <button type="button" className={classes.fresh} onClick={onShow}>
      {count.toLocaleString("en")} new
    </button>
  );
}

function rowCount<Row>(list: RowList<Row>, total: number | null | undefined, noun: string): string {
  if (list.isLoading) return "";
  const count = total ?? list.rows.length;
  const more = list.hasMore && (total === null || total === undefined) ? " loaded, and more" : "";
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}${more}`;
}

const CHECKBOX_WIDTH = 36;

function minimumWidth<Row>(model: TableModel<Row>, selectable: boolean): number {
  const widths = model.columns.map(({ width }) => width);
  return widths.reduce((sum, width) => sum + width, selectable ? CHECKBOX_WIDTH : 0);
}
