import { Button } from "@mantine/core";
import classes from "./DataTable.module.css";
import { NOTHING, type Selection } from "./selection";
import type { RowList } from "./rowList";

interface SelectionBarProps<Row> {
  list: RowList<Row>;
  selection: Selection;
  onSelect: (selection: Selection) => void;
  bulkActions?: React.ReactNode;
  total?: number | null;
}

/** How many rows are selected, what can be done with them, and a way to all that match the filter. */
export function SelectionBar<Row>({ list, selection, onSelect, bulkActions, total }: SelectionBarProps<Row>) {
  const loaded = list.rows.length;
  const mayBeMore = list.hasMore || (total ?? 0) > loaded;
  const matching = total === null || total === undefined ? "all" : `all ${total.toLocaleString("en")}`;
  return (
    <div className={classes.selection} role="status">
      <strong>{selection.all ? `${capital(matching)} matching` : `${selection.ids.size.toLocaleString("en")} selected`}</strong>
      {!selection.all && mayBeMore && selection.ids.size >= loaded && (
        <Button variant="subtle" size="compact-xs" onClick={() => onSelect({ all: true, ids: new Set() })}>
          Select {matching} matching
        </Button>
      )}
      {bulkActions}
      <Button variant="subtle" color="gray" size="compact-xs" onClick={() => onSelect(NOTHING)}>
        Clear
      </Button>
    </div>
  );
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
