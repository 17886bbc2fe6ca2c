import { IconAlertTriangle } from "@tabler/icons-react";
import { StateIcon } from "../parts/StateIcon";
import { EXECUTION_LOOKS } from "../parts/states";
import { clockTime, shortTime } from "../time/formatTime";
import classes from "./calendar.module.css";
import type { Scale } from "./calendarPeriod";
import { type Cell, type HotSpot, hotSpots } from "./heatMap";

interface HotSpotsProps {
  cells: readonly Cell[];
  zone: string;
  now: number;
  scale: Scale;
  onChoose: (cell: Cell) => void;
}

/** The times to look at, in words. */
export function HotSpots({ cells, zone, now, scale, onChoose }: HotSpotsProps) {
  const found = hotSpots(cells);
  if (found.length === 0) return <p className={classes.words}>No {scale === "year" ? "day" : "hour"} stands out.</p>;
  return (
    <ul className={classes.spots} aria-label="Hot spots">
      {found.map((spot) => (
        <li key={`${spot.kind}${spot.cell.from}`}>
          {spot.kind === "failed" ? <StateIcon look={EXECUTION_LOOKS.failed} /> : <IconAlertTriangle size={14} aria-hidden />}
          <button type="button" onClick={() => onChoose(spot.cell)}>
            {when(spot.cell, zone, now, scale)}
          </button>
          <span>{words(spot)}</span>
        </li>
      ))}
    </ul>
  );
}

function when({ from, until }: Cell, zone: string, now: number, scale: Scale): string {
  const start = shortTime(new Date(from), zone, new Date(now));
  return scale === "year" ? (start.split(",")[0] ?? start) : `${start}–${clockTime(new Date(until), zone)}`;
}

function words({ cell, kind, times }: HotSpot): string {
  if (kind === "failed") return `${cell.failed.toLocaleString("en")} of ${cell.ran.toLocaleString("en")} failed`;
  return `${cell.due.toLocaleString("en")} due, ${times.toFixed(1)} times the usual`;
}
