import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Answer } from "../parts/Answer";
import { Card } from "../parts/Card";
import { clockTime } from "../time/formatTime";
import { useNow } from "../time/now";
import { useZone } from "../time/zone";
import { count, standsOut } from "./figures";
import classes from "./overview.module.css";
import { loadQuery } from "./overviewQueries";

const HOUR = 3_600_000;
const HOURS = 24;

/** How much is due in each of the next 24 hours; the hour that stands out is named. */
export function ComingLoad() {
  const zone = useZone();
  const now = useNow(() => 60_000).getTime();
  const from = Math.floor(now / HOUR) * HOUR;
  const query = useQuery(loadQuery(from, HOURS));
  return (
    <Card title="The coming day" actions={<Link to="/calendar">Calendar</Link>}>
      <Answer query={query}>
        {({ items, estimate }) => {
          const busiest = standsOut(items);
          const most = Math.max(1, ...items.map((each) => each.count));
          const sum = items.reduce((total, each) => total + each.count, 0);
          return (
            <>
              <p className={classes.figure}>
                <strong>
                  {estimate ? "about " : ""}
                  {sum.toLocaleString("en")}
                </strong>{" "}
                due
                {busiest && (
                  <>
                    ; the most, {busiest.count.toLocaleString("en")}, from <strong>{clockTime(new Date(busiest.at), zone)}</strong> on
                  </>
                )}
              </p>
              <ol className={classes.hours} aria-label="Due in each hour">
                {items.map(({ at, count: due }, place) => {
                  const words = `${clockTime(new Date(at), zone)}: ${count(due, "execution")} due`;
                  return (
                    <li key={at}>
                      <Link to="/calendar" search={{ at }} aria-label={words} data-tip={words} data-most={busiest?.at === at || undefined}>
                        <span style={{ height: `${Math.max(due > 0 ? 4 : 0, (due / most) * 100)}%` }} />
                      </Link>
                      <small aria-hidden>{place % 6 === 0 ? clockTime(new Date(at), zone) : ""}</small>
                    </li>
                  );
                })}
              </ol>
            </>
          );
        }}
      </Answer>
    </Card>
  );
}
