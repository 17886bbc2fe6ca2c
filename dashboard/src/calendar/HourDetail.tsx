import { CloseButton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import type { Column } from "../list/columns";
import { rowsOf } from "../list/rowList";
import { SimpleTable } from "../list/SimpleTable";
import type { Schemas } from "../api/client";
import { Card } from "../parts/Card";
import { jobTitle } from "../parts/jobTitle";
import { JobLink } from "../parts/links";
import { clockTime, shortTime } from "../time/formatTime";
import { TimeText } from "../time/TimeText";
import classes from "./calendar.module.css";
import { aheadQuery, type CalendarFilter, dueListQuery, pastQuery } from "./calendarQueries";
import { executionsSearch } from "./executionsSearch";
import { type Cell, cellWords, fillCells } from "./heatMap";

const MINUTE = 60_000;
const MOST_DUE = 12;
const MINUTES_ARE_KEPT = 6.9 * 86_400_000;

interface HourDetailProps {
  from: number;
  until: number;
  now: number;
  zone: string;
  filter: CalendarFilter;
  onClose: () => void;
}

/** An hour down to the minute: what ran, what failed, and what is due. */
export function HourDetail({ from, until, now, zone, filter, onClose }: HourDetailProps) {
  const hasMinutes = from > now - MINUTES_ARE_KEPT;
  const past = useQuery(pastQuery(from, Math.min(until, Math.ceil(now / MINUTE) * MINUTE), hasMinutes ? "1m" : "1h", zone, filter));
  const ahead = useQuery(aheadQuery(Math.max(from, Math.floor(now / MINUTE) * MINUTE), until, "1m", zone, filter));
  const count = hasMinutes ? Math.round((until - from) / MINUTE) : 1;
  const length = (until - from) / count;
  const parts = Array.from({ length: count }, (_, place) => ({ from: from + place * length, until: from + (place + 1) * length }));
  const minutes = fillCells(parts, from < now ? (past.data?.items ?? []) : [], until > now ? (ahead.data?.items ?? []) : []);
  const most = Math.max(1, ...minutes.map(({ ran, due }) => ran + due));
  const sum = minutes.reduce<Cell>((total, each) => add(total, each), { from, until, ran: 0, failed: 0, missed: 0, due: 0 });
  const title = `${shortTime(new Date(from), zone, new Date(now))} to ${clockTime(new Date(until), zone)}`;
  const card = useRef<HTMLDivElement>(null);
  useEffect(() => {
    card.current?.scrollIntoView({ block: "nearest" });
  }, [from, past.isPending, ahead.isPending]);
  return (
    <div ref={card} className={classes.detail}>
      <Card title={title} actions={<CloseButton aria-label="Close the hour" onClick={onClose} />}>
        <p className={classes.words}>
          {cellWords(sum)}.{" "}
          {from < now && (
            <>
              <Link to="/executions" search={executionsSearch(sum, filter)}>
                Executions of this hour
              </Link>
              {sum.failed > 0 && (
                <>
                  , <Link to="/executions" search={executionsSearch(sum, filter, "failed")}>only failed ones</Link>
                </>
              )}
            </>
          )}
          {!hasMinutes && from < now && " Minutes are kept for 7 days; this hour is older."}
        </p>
        {hasMinutes && <p className={classes.scale}>{`Executions a minute, at most ${most.toLocaleString("en")}`}</p>}
        {hasMinutes && (
          <ol className={classes.minutes} aria-label="Minute by minute">
            {minutes.map((minute, place) => {
              const words = `${clockTime(new Date(minute.from), zone)}: ${cellWords(minute)}`;
              return (
                <li key={minute.from}>
                  <Link to="/executions" search={executionsSearch(minute, filter)} aria-label={words} data-tip={words} tabIndex={minute.ran + minute.due > 0 ? 0 : -1}>
                    {minute.due > 0 && <span className={classes.dueBar} style={{ height: `${(minute.due / most) * 100}%` }} />}
                    {minute.ran > minute.failed && <span className={classes.ranBar} style={{ height: `${((minute.ran - minute.failed) / most) * 100}%` }} />}
                    {minute.failed > 0 && <span className={classes.failedBar} style={{ height: `${(minute.failed / most) * 100}%` }} />}
                  </Link>
                  <small aria-hidden>{place % 10 === 0 ? clockTime(new Date(minute.from), zone) : ""}</small>
                </li>
              );
            })}
          </ol>
        )}
        {until > now && <DueList from={Math.max(from, now)} until={until} filter={filter} />}
      </Card>
    </div>
  );
}

function add(one: Cell, other: Cell): Cell {
  const { from, until, ran, failed, missed, due } = one;
  return { from, until, ran: ran + other.ran, failed: failed + other.failed, missed: missed + other.missed, due: due + other.due };
}

type DueTime = Schemas["DueTime"];

const COLUMNS: Column<DueTime>[] = [
  { id: "at", header: "Due", width: 130, cell: ({ at }) => <TimeText at={at} absolute /> },
  { id: "job", header: "Job", width: 200, grows: true, cell: ({ job_id, name, task }) => <JobLink job={{ id: job_id, name: jobTitle({ id: job_id, name, task }) }} /> },
  { id: "task", header: "Task", width: 180, cell: ({ task }) => task },
  { id: "queue", header: "Queue", width: 110, cell: ({ queue }) => queue },
];

function DueList({ from, until, filter }: { from: number; until: number; filter: CalendarFilter }) {
  const list = rowsOf(useQuery(dueListQuery(Math.floor(from / MINUTE) * MINUTE, until, filter)));
  return (
    <>
      <SimpleTable
        label="Due in this hour"
        columns={COLUMNS}
        list={{ ...list, rows: list.rows.slice(0, MOST_DUE) }}
        rowId={({ at, job_id }) => at + job_id}
        empty={<p className={classes.words}>Nothing is due in this hour.</p>}
      />
      {list.rows.length > MOST_DUE && <p className={classes.words}>These are the first {MOST_DUE} of what is due in this hour.</p>}
    </>
  );
}
