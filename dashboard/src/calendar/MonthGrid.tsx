import { wallClock } from "../time/wallClock";
import { hoursOf, type ZoneDay } from "../time/zoneDays";
import classes from "./calendar.module.css";
import { CellButton, moveFocus } from "./CellButton";
import type { Cell } from "./heatMap";

const WEEKDAYS = ["M", "T", "W", "T", "F", "S", "S"];
const HOUR = 3_600_000;

export interface GridProps {
  days: readonly ZoneDay[];
  cells: readonly Cell[];
  zone: string;
  now: number;
  chosen: number | null;
  onChoose: (cell: Cell) => void;
}

/** The parts of a month: every hour of every day. */
export function monthParts(days: readonly ZoneDay[], zone: string): { from: number; until: number }[] {
  return days.flatMap((day) => hoursOf(day, zone).map(({ at }) => ({ from: at, until: Math.min(at + HOUR, day.end) })));
}

/** Hour by day. Days on which the clocks change say how many hours they have; an hour that there is twice shows both. */
export function MonthGrid({ days, cells, zone, now, chosen, onChoose }: GridProps) {
  const most = Math.max(1, ...cells.map(({ ran, due }) => Math.max(ran, due)));
  const byPlace = new Map<string, Cell[]>();
  for (const cell of cells) {
    const { day, hour } = wallClock(cell.from, zone);
    byPlace.set(`${day}:${hour}`, [...(byPlace.get(`${day}:${hour}`) ?? []), cell]);
  }
  const isToday = (day: ZoneDay) => day.start <= now && now < day.end;
  const entry = chosen ?? cells.find(({ until }) => until > now)?.from ?? cells[0]?.from;
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- arrow keys move between its buttons
    <table className={classes.grid} onKeyDown={moveFocus}>
      <caption className="visually-hidden">Executions by hour and day</caption>
      <thead>
        <tr>
          <th scope="col">
            <span className="visually-hidden">Hour</span>
          </th>
          {days.map((day) => (
            <th key={day.day} scope="col" data-today={isToday(day) || undefined} data-weekend={day.weekday > 4 || undefined}>
              <span>{WEEKDAYS[day.weekday]}</span>
              <span>{day.day}</span>
              {day.hours !== 24 && (
                <small data-tip={`The clocks change: this day has ${day.hours} hours`}>{day.hours} h</small>
              )}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {Array.from({ length: 24 }, (_, hour) => (
          <tr key={hour}>
            <th scope="row">{hour % 2 === 0 ? `${String(hour).padStart(2, "0")}:00` : <span className="visually-hidden">{hour}:00</span>}</th>
            {days.map((day, column) => {
              const found = byPlace.get(`${day.day}:${hour}`) ?? [];
              return (
                <td key={day.day} data-today={isToday(day) || undefined} data-skipped={found.length === 0 || undefined}>
                  {found.map((cell) => (
                    <CellButton key={cell.from} cell={cell} now={now} most={most} zone={zone} chosen={cell.from === chosen} onChoose={onChoose} row={hour} column={column} isEntry={cell.from === entry} />
                  ))}
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
