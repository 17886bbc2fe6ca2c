import { Checkbox, Skeleton } from "@mantine/core";
import type { MouseEvent } from "react";
import classes from "./DataTable.module.css";
import { extended, isSelected, type Selection, toggled } from "./selection";
import type { RowList } from "./rowList";
import type { RowKeys } from "./useRowKeys";
import type { TableModel } from "./useTableModel";
import type { VirtualRows } from "./useVirtualRows";

interface TableBodyProps<Row> {
  model: TableModel<Row>;
  list: RowList<Row>;
  virtual: VirtualRows;
  keys: RowKeys;
  selection: Selection;
  onSelect?: (selection: Selection) => void;
  onOpen?: (row: Row) => void;
}

const SKELETON_ROWS = 8;

export function TableBody<Row>(props: TableBodyProps<Row>) {
  const { model, list, virtual, onSelect } = props;
  const span = model.columns.length + (onSelect ? 1 : 0);
  if (list.isLoading) return <Loading span={span} />;
  return (
    <tbody>
      <Space height={virtual.before} span={span} />
      {virtual.items.map(({ index }) => (
        <BodyRow key={model.rows[index]?.id ?? index} {...props} index={index} />
      ))}
      <Space height={virtual.after} span={span} />
      {list.isLoadingMore && (
        <tr>
          <td colSpan={span} className={classes.more}>
            Loading more
          </td>
        </tr>
      )}
    </tbody>
  );
}

function BodyRow<Row>({ model, keys, selection, onSelect, onOpen, index }: TableBodyProps<Row> & { index: number }) {
  const found = model.rows[index];
  if (!found) return null;
  const { id, row } = found;
  const selected = isSelected(selection, id);
  const select = (event: MouseEvent) => {
    const ids = model.rows.map((each) => each.id);
    onSelect?.(event.shiftKey ? extended(selection, keys.current, index, ids) : toggled(selection, id, ids));
    keys.setCurrent(index);
  };
  return (
    <tr
      data-current={keys.current === index || undefined}
      data-selected={selected || undefined}
      data-opens={Boolean(onOpen) || undefined}
      aria-rowindex={index + 2}
      onClick={(event) => {
        if (onOpen && isBesideControls(event)) onOpen(row);
      }}
    >
      {onSelect && (
        <td className={classes.check}>
          <Checkbox aria-label="Select this row" checked={selected} onChange={() => undefined} onClick={select} />
        </td>
      )}
      {model.columns.map((column) => (
        <td key={column.id} data-align={column.align}>
          {column.cell(row)}
        </td>
      ))}
    </tr>
  );
}

/** A click on a link or a button is theirs, and one that ends a selection of text is no click. */
function isBesideControls(event: MouseEvent): boolean {
  const onControl = (event.target as Element).closest("a, button, input, label, [role=menuitem]");
  return !onControl && !window.getSelection()?.toString();
}

function Space({ height, span }: { height: number; span: number }) {
  return height > 0 ? (
    <tr aria-hidden className={classes.space}>
      {/* oxlint-disable-next-line jsx-a11y/control-has-associated-label -- it only takes room */}
      <td colSpan={span} style={{ height }} />
    </tr>
  ) : null;
}

function Loading({ span }: { span: number }) {
  return (
    <tbody>
      {Array.from({ length: SKELETON_ROWS }, (_, row) => (
        // oxlint-disable-next-line react/no-array-index-key -- they are all alike
        <tr key={row}>
          <td colSpan={span}>
            <Skeleton height={12} width={`${90 - (row % 4) * 12}%`} />
          </td>
        </tr>
      ))}
    </tbody>
  );
}
