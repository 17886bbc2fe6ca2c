import { absoluteTime } from "../time/formatTime";
import classes from "./calendar.module.css";
import { type Cell, cellWords, levelOf } from "./heatMap";

interface CellButtonProps {
  cell: Cell;
  now: number;
  /** The most of any cell that is shown. */
  most: number;
  zone: string;
  chosen: boolean;
  onChoose: (cell: Cell) => void;
  /** Row and column, for the arrow keys. */
  row: number;
  column: number;
  /** One cell of a grid can be reached by Tab; the arrow keys lead on from there. */
  isEntry: boolean;
}

/** What happened by how dark it is, failures by the size of a corner, what is due by its outline. */
export function CellButton({ cell, now, most, zone, chosen, onChoose, row, column, isEntry }: CellButtonProps) {
  const isPast = cell.from < now;
  const share = cell.ran > 0 ? cell.failed / cell.ran : 0;
  const words = `${absoluteTime(new Date(cell.from), zone).replace(/:00 /, " ")}: ${cellWords(cell)}`;
  return (
    <button
      type="button"
      className={classes.cell}
      aria-label={words}
      aria-pressed={chosen}
      data-tip={words}
      data-level={isPast ? levelOf(cell.ran, most) : undefined}
      data-due={cell.until > now ? levelOf(cell.due, most) : undefined}
      data-cell={`${row},${column}`}
      tabIndex={isEntry ? 0 : -1}
      onClick={() => onChoose(cell)}
    >
      {cell.failed > 0 && <span className={classes.corner} data-size={share > 0.5 ? 3 : share > 0.1 ? 2 : 1} />}
      {cell.missed > 0 && <span className={classes.missed}>!</span>}
    </button>
  );
}

const MOVES: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** Arrow keys lead from cell to cell. */
export function moveFocus(event: React.KeyboardEvent): void {
  const move = MOVES[event.key];
  const from = event.target instanceof HTMLElement ? event.target.dataset["cell"] : undefined;
  if (!move || !from) return;
  const [row = 0, column = 0] = from.split(",").map(Number);
  const next = event.currentTarget.querySelector<HTMLElement>(`[data-cell="${row + move[0]},${column + move[1]}"]`);
  if (!next) return;
  event.preventDefault();
  next.focus();
}
