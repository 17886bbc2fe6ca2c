import classes from "./calendar.module.css";
import { CellButton, moveFocus } from "./CellButton";
import type { GridProps } from "./MonthGrid";

const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Weekday by week. */
export function YearGrid({ days, cells, zone, now, chosen, onChoose }: GridProps) {
  const most = Math.max(1, ...cells.map(({ ran, due }) => Math.max(ran, due)));
  const first = days[0]?.weekday ?? 0;
  const weekOf = (place: number) => Math.floor((place + first) / 7);
  const weeks = weekOf(days.length - 1) + 1;
  const placeOf = (week: number, weekday: number) => week * 7 + weekday - first;
  const entry = chosen ?? cells.find(({ until }) => until > now)?.from ?? cells[0]?.from;
  const monthAt = (week: number) => {
    const [before, day] = [days[placeOf(week - 1, 6)], days[placeOf(week, 6)]];
    return day && day.month !== before?.month ? MONTHS[day.month - 1] : "";
  };
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- arrow keys move between its buttons
    <table className={classes.grid} data-scale="year" onKeyDown={moveFocus}>
      <caption className="visually-hidden">Executions by weekday and week</caption>
      <thead>
        <tr>
          <th scope="col">
            <span className="visually-hidden">Weekday</span>
          </th>
          {Array.from({ length: weeks }, (_, week) => (
            <th key={week} scope="col">
              <span>{monthAt(week)}</span>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {WEEKDAYS.map((word, weekday) => (
          <tr key={word}>
            <th scope="row">{word}</th>
            {Array.from({ length: weeks }, (_, week) => {
              const place = placeOf(week, weekday);
              const [day, cell] = [days[place], cells[place]];
              if (!day || !cell) return <td key={week}>{"\u00a0"}</td>;
              const isToday = day.start <= now && now < day.end;
              return (
                <td key={week} data-today={isToday || undefined}>
                  <CellButton cell={cell} now={now} most={most} zone={zone} chosen={cell.from === chosen} onChoose={onChoose} row={weekday} column={week} isEntry={cell.from === entry} />
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
