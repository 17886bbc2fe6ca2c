import { useMemo, useState } from "react";
import { readSetting, writeSetting } from "../parts/localSettings";

export interface Column<Row> {
  id: string;
  header: string;
  cell: (row: Row) => React.ReactNode;
  /** Pixels. With `grows`, at least so many. */
  width: number;
  grows?: boolean;
  align?: "right";
  /** The name that the API sorts by; the header then sorts. */
  sort?: string;
  /** Not shown until it is chosen. */
  extra?: boolean;
  /** Always shown: cannot be chosen away. */
  always?: boolean;
}

/** Which columns are shown, remembered in this browser under the name of the table. */
export function useShownColumns<Row>(table: string, columns: readonly Column<Row>[]) {
  const [chosen, setChosen] = useState<Record<string, boolean>>(() => readSetting(`columns-${table}`, {}));
  const visibility = useMemo(
    () => Object.fromEntries(columns.map((column) => [column.id, column.always ?? chosen[column.id] ?? !column.extra])),
    [columns, chosen],
  );
  const choose = (next: Record<string, boolean>) => {
    setChosen(next);
    writeSetting(`columns-${table}`, next);
  };
  return {
    visibility,
    toggle: (id: string) => choose({ ...chosen, [id]: !visibility[id] }),
    reset: () => choose({}),
    isChanged: Object.keys(chosen).length > 0,
  };
}

/** The order that a click on a header asks for: up, down, then none. */
export function nextSort(current: string | undefined, name: string): string | undefined {
  if (current === name) return `-${name}`;
  return current === `-${name}` ? undefined : name;
}

export function sortDirection(current: string | undefined, name: string | undefined): "ascending" | "descending" | "none" {
  if (name === undefined || current === undefined) return "none";
  if (current === name) return "ascending";
  return current === `-${name}` ? "descending" : "none";
}
