import { Checkbox } from "@mantine/core";
import { IconArrowDown, IconArrowUp } from "@tabler/icons-react";
import { type Column, nextSort, sortDirection } from "./columns";
import classes from "./DataTable.module.css";
import { NOTHING, type Selection } from "./selection";
import type { TableModel } from "./useTableModel";

interface TableHeadProps<Row> {
  model: TableModel<Row>;
  sort?: string | undefined;
  onSort?: (sort: string | undefined) => void;
  selection: Selection;
  onSelect?: (selection: Selection) => void;
}

export function TableHead<Row>({ model, sort, onSort, selection, onSelect }: TableHeadProps<Row>) {
  const ids = model.rows.map(({ id }) => id);
  const count = selection.all ? ids.length : ids.filter((id) => selection.ids.has(id)).length;
  const isFull = ids.length > 0 && count === ids.length;
  return (
    <>
      <colgroup>
        {onSelect && <col style={{ width: 36 }} />}
        {model.columns.map((column) => (
          <col key={column.id} style={column.grows ? undefined : { width: column.width }} />
        ))}
      </colgroup>
      <thead>
        <tr>
          {onSelect && (
            <th scope="col" className={classes.check}>
              <Checkbox
                aria-label="Select all loaded rows"
                checked={isFull}
                indeterminate={count > 0 && !isFull}
                onChange={() => onSelect(isFull ? NOTHING : { all: false, ids: new Set(ids) })}
              />
            </th>
          )}
          {model.columns.map((column) => (
            <Header key={column.id} column={column} sort={sort} onSort={onSort} />
          ))}
        </tr>
      </thead>
    </>
  );
}

interface HeaderProps<Row> {
  column: Column<Row>;
  sort: string | undefined;
  onSort: ((sort: string | undefined) => void) | undefined;
}

function Header<Row>({ column, sort, onSort }: HeaderProps<Row>) {
  const direction = sortDirection(sort, column.sort);
  const { sort: name } = column;
  if (!name || !onSort) {
    return (
      <th scope="col" data-align={column.align}>
        {column.header}
      </th>
    );
  }
  return (
    <th scope="col" data-align={column.align} aria-sort={direction}>
      <button type="button" className={classes.sort} onClick={() => onSort(nextSort(sort, name))}>
        {column.header}
        {direction === "ascending" && <IconArrowUp size={12} aria-hidden />}
        {direction === "descending" && <IconArrowDown size={12} aria-hidden />}
      </button>
    </th>
  );
}
