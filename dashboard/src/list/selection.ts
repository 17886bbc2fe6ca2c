import { useState } from "react";

/** Which rows are meant: some by their ids, or all that match the filter, whether loaded or not. */
export interface Selection {
  all: boolean;
  ids: ReadonlySet<string>;
}

export const NOTHING: Selection = { all: false, ids: new Set() };

export function isSelected(selection: Selection, id: string): boolean {
  return selection.all || selection.ids.has(id);
}

export function isEmpty(selection: Selection): boolean {
  return !selection.all && selection.ids.size === 0;
}

/** Taking one row out of "all matching" leaves the other loaded ones. */
export function toggled(selection: Selection, id: string, loaded: readonly string[]): Selection {
  const ids = new Set(selection.all ? loaded : selection.ids);
  if (!ids.delete(id)) ids.add(id);
  return { all: false, ids };
}

/** With the rows between two places, as shift and click select. */
export function extended(selection: Selection, from: number, to: number, loaded: readonly string[]): Selection {
  const range = loaded.slice(Math.min(from, to), Math.max(from, to) + 1);
  return { all: false, ids: new Set([...selection.ids, ...range]) };
}

/** The selection in a list; another filter is another list, and begins with none. */
export function useSelection(filterKey: string): [Selection, (next: Selection) => void] {
  const [state, setState] = useState({ filterKey, selection: NOTHING });
  const selection = state.filterKey === filterKey ? state.selection : NOTHING;
  return [selection, (next) => setState({ filterKey, selection: next })];
}
