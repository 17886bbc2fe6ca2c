import { EXECUTION_LOOKS, lookOf, type StateLook, WAITING_LOOKS } from "../parts/states";
import { type Bar, byImportance, mergeRuns, NARROWEST, type Run } from "./mergeRuns";
import type { TimeWindow } from "./timeWindow";

export const ROW_HEIGHT = 28; // pixels
export const BAR_HEIGHT = 16;

export interface Shape {
  row: number;
  x: number;
  y: number;
  width: number;
  bar: Bar;
  look: StateLook;
}

const LOOKS: Record<string, StateLook> = { ...EXECUTION_LOOKS, retrying: { ...WAITING_LOOKS.retry, word: "Retrying" }, due: { ...WAITING_LOOKS.due, word: "Due" } };

export function barLook(state: string): StateLook {
  return lookOf(LOOKS, state);
}

/** Where the bars of all rows are, in pixels, in the order in which they are drawn. What is out of the window is left out. */
export function layoutShapes(rows: readonly (readonly Run[])[], { from, until }: TimeWindow, width: number): Shape[] {
  const msPerPixel = (until - from) / Math.max(1, width);
  return rows.flatMap((runs, row) => {
    const shown = runs.filter((run) => run.until >= from && run.from <= until);
    return byImportance(mergeRuns(shown, msPerPixel)).map((bar) => {
      const left = Math.max(0, (bar.from - from) / msPerPixel);
      const right = Math.min(width, (bar.until - from) / msPerPixel);
      const x = Math.min(left, width - NARROWEST);
      const y = row * ROW_HEIGHT + (ROW_HEIGHT - BAR_HEIGHT) / 2;
      return { row, x, y, width: Math.max(NARROWEST, right - x), bar, look: barLook(bar.state) };
    });
  });
}

const REACH = 3; // pixels beside a bar that still hit it

/** The bar at a place; the one that was drawn last if there are several. */
export function shapeAt(shapes: readonly Shape[], x: number, y: number): Shape | undefined {
  const row = Math.floor(y / ROW_HEIGHT);
  return shapes.findLast((each) => each.row === row && x >= each.x - REACH && x <= each.x + each.width + REACH);
}

/** "3 failed, 12 completed" */
export function countWords(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([state, count]) => `${count.toLocaleString("en")} ${barLook(state).word.toLowerCase()}`)
    .join(", ");
}
