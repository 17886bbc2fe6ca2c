/** What happened and what is due in an hour or a day. Milliseconds since 1970. */
export interface Cell {
  from: number;
  until: number;
  ran: number;
  failed: number;
  missed: number;
  due: number;
}

export interface Past {
  at: string;
  completed: number;
  failed: number;
  missed: number;
}

export interface Ahead {
  at: string;
  count: number;
}

/** Sums what lies in each part; parts follow each other in time. What lies outside of all is left out. */
export function fillCells(parts: readonly { from: number; until: number }[], past: readonly Past[], ahead: readonly Ahead[]): Cell[] {
  const cells = parts.map(({ from, until }): Cell => ({ from, until, ran: 0, failed: 0, missed: 0, due: 0 }));
  for (const point of past) {
    const cell = cellAt(cells, Date.parse(point.at));
    if (!cell) continue;
    cell.ran += point.completed + point.failed;
    cell.failed += point.failed;
    cell.missed += point.missed;
  }
  for (const { at, count } of ahead) {
    const cell = cellAt(cells, Date.parse(at));
    if (cell) cell.due += count;
  }
  return cells;
}

function cellAt(cells: readonly Cell[], at: number): Cell | undefined {
  let [low, high] = [0, cells.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const cell = cells[middle];
    if (!cell) return undefined;
    if (at < cell.from) high = middle - 1;
    else if (at >= cell.until) low = middle + 1;
    else return cell;
  }
  return undefined;
}

export const LEVELS = 5;

/** 0 for nothing, else 1 to 5 by the square root: one execution is seen beside ten thousand, and twice as much is darker. */
export function levelOf(count: number, most: number): number {
  if (count <= 0) return 0;
  return Math.min(LEVELS, Math.max(1, Math.ceil(Math.sqrt(count / Math.max(1, most)) * LEVELS)));
}

export interface HotSpot {
  cell: Cell;
  kind: "due" | "failed";
  /** How many times as much as usual. */
  times: number;
}

const STANDS_OUT = 2;

/** The parts with far more due than usual, and those in which most failed. */
export function hotSpots(cells: readonly Cell[], most = 3): HotSpot[] {
  const due = cells.filter((cell) => cell.due > 0);
  const usual = median(due.map((cell) => cell.due));
  const crowded = due
    .filter((cell) => usual > 0 && cell.due >= STANDS_OUT * usual && cell.due > usual + 1)
    .toSorted((one, other) => other.due - one.due)
    .slice(0, most)
    .map((cell): HotSpot => ({ cell, kind: "due", times: cell.due / usual }));
  const failed = cells.filter((cell) => cell.failed > 0);
  const usualFailures = median(failed.map((cell) => cell.failed)) || 1;
  const failures = failed
    .toSorted((one, other) => other.failed - one.failed)
    .slice(0, most)
    .map((cell): HotSpot => ({ cell, kind: "failed", times: cell.failed / usualFailures }));
  return [...crowded, ...failures];
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** "12 ran, 1 failed; 30 due" */
export function cellWords({ ran, failed, missed, due }: Cell): string {
  const past = [ran > 0 && `${text(ran)} ran`, failed > 0 && `${text(failed)} failed`, missed > 0 && `${text(missed)} missed`];
  return [past.filter(Boolean).join(", "), due > 0 && `${text(due)} due`].filter(Boolean).join("; ") || "nothing";
}

function text(value: number): string {
  return value.toLocaleString("en");
}
