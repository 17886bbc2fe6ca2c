import { formatDuration } from "../time/formatDuration";
import { absoluteTime } from "../time/formatTime";
import { useZone } from "../time/zone";
import { countWords } from "./layoutShapes";
import classes from "./timeline.module.css";
import tables from "../list/DataTable.module.css";
import type { TimeWindow } from "./timeWindow";
import type { Row } from "./rowOf";

interface TimelineTableProps {
  rows: readonly Row[];
  window: TimeWindow;
  /** Otherwise it is there for screen readers only. */
  shown: boolean;
}

/** The time line in words and figures. */
export function TimelineTable({ rows, window, shown }: TimelineTableProps) {
  const zone = useZone();
  return (
    <div className={shown ? `${classes.table} ${tables.scroller}` : "visually-hidden"}>
      <table>
        <caption className="visually-hidden">
          What ran and what is due, from {absoluteTime(new Date(window.from), zone)} to {absoluteTime(new Date(window.until), zone)}
        </caption>
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col">What happened</th>
            <th scope="col">Due</th>
            <th scope="col">Next</th>
            <th scope="col">Usually takes</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ id, title, runs, next, typical }) => {
            const counts = countsIn(runs, window);
            const { due = 0, ...past } = counts;
            return (
              <tr key={id}>
                <th scope="row">{title}</th>
                <td>{countWords(past) || "nothing"}</td>
                <td>{due === 0 ? "nothing" : due.toLocaleString("en")}</td>
                <td>{next === undefined ? "–" : absoluteTime(new Date(next), zone)}</td>
                <td>{typical === undefined ? "not known" : formatDuration(typical / 1000)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function countsIn(runs: Row["runs"], { from, until }: TimeWindow): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const run of runs) {
    if (run.until < from || run.from > until) continue;
    for (const [state, count] of Object.entries(run.counts)) sums[state] = (sums[state] ?? 0) + count;
  }
  return sums;
}
