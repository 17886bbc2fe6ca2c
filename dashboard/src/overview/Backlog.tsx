import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Answer } from "../parts/Answer";
import { Card } from "../parts/Card";
import { StateIcon } from "../parts/StateIcon";
import { WAITING_LOOKS } from "../parts/states";
import { formatDuration } from "../time/formatDuration";
import { atLeast } from "./figures";
import classes from "./overview.module.css";
import { overviewQuery } from "./overviewQueries";
import type { Queue } from "./overviewTypes";

const MOST = 6;

/** What waits, for how long, and where. */
export function Backlog() {
  const overview = useQuery(overviewQuery);
  return (
    <Card title="Backlog" actions={<Link to="/queues">All queues</Link>}>
      <Answer query={overview}>
        {({ backlog, capacity, queues }) => (
          <>
            <p className={classes.figure}>
              <strong>{atLeast(backlog.waiting, backlog.exact)}</strong> waiting
              {backlog.oldest_age !== null && backlog.waiting > 0 && (
                <>
                  , the oldest for <strong>{formatDuration(backlog.oldest_age)}</strong>
                </>
              )}
              ; <strong>{capacity.slots_busy}</strong> of <Link to="/workers">{capacity.slots.toLocaleString("en")} slots</Link> busy
            </p>
            <QueueBars queues={queues} />
          </>
        )}
      </Answer>
    </Card>
  );
}

function QueueBars({ queues }: { queues: readonly Queue[] }) {
  const shown = queues.slice(0, MOST);
  const most = Math.max(1, ...shown.map(({ depth, running }) => depth + running));
  if (shown.length === 0) return <p className={classes.more}>Nothing runs or waits in any queue.</p>;
  return (
    <table className={classes.queues}>
      <caption className="visually-hidden">Queues with the most work</caption>
      <thead className="visually-hidden">
        <tr>
          <th scope="col">Queue</th>
          <th scope="col">Running and waiting</th>
          <th scope="col">Oldest</th>
        </tr>
      </thead>
      <tbody>
        {shown.map(({ name, depth, depth_is_exact, running, oldest_age, paused }) => (
          <tr key={name}>
            <th scope="row">
              <Link to="/queues" search={{ queue: name }}>
                {name}
              </Link>
              {paused && <StateIcon look={{ ...WAITING_LOOKS.paused, word: "Paused" }} labelled />}
            </th>
            <td>
              <span className={classes.queueBar} aria-hidden>
                {running > 0 && <span className={classes.running} style={{ width: `${(running / most) * 100}%` }} />}
                {depth > 0 && <span className={classes.waiting} style={{ width: `${(depth / most) * 100}%` }} />}
              </span>
              <span className={classes.queueWords}>
                {running.toLocaleString("en")} running, {atLeast(depth, depth_is_exact)} waiting
              </span>
            </td>
            <td className={classes.age}>{oldest_age === null || depth === 0 ? "" : formatDuration(oldest_age)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
