import { useState } from "react";
import { useKeys } from "../shell/useKeys";
import { type Selection, toggled } from "./selection";
import type { RowList } from "./rowList";

export interface RowKeys {
  /** The row that keys act on; -1 before the first key. */
  current: number;
  setCurrent: (index: number) => void;
}

interface RowKeysOptions<Row> {
  list: RowList<Row>;
  rowId: (row: Row) => string;
  selection: Selection;
  onSelect?: (selection: Selection) => void;
  onOpen?: (row: Row) => void;
  scrollTo: (index: number) => void;
  enabled: boolean;
}

/** j and k move from row to row, x selects, Enter opens. */
export function useRowKeys<Row>({ list, rowId, selection, onSelect, onOpen, scrollTo, enabled }: RowKeysOptions<Row>): RowKeys {
  const [current, setCurrent] = useState(-1);
  const move = (to: number) => {
    const index = Math.max(0, Math.min(to, list.rows.length - 1));
    setCurrent(index);
    scrollTo(index);
  };
  const row = list.rows[current];
  useKeys(
    {
      j: () => move(current + 1),
      k: () => move(current - 1),
      x: () => {
        if (row !== undefined) onSelect?.(toggled(selection, rowId(row), list.rows.map(rowId)));
      },
      Enter: () => {
        if (row !== undefined) onOpen?.(row);
      },
    },
    enabled,
  );
  return { current, setCurrent };
}
