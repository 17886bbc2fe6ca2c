import { Button, Paper, SegmentedControl, Skeleton, Title } from "@mantine/core";
import { IconAlertTriangle, IconTable, IconZoomReset } from "@tabler/icons-react";
import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import type { Schemas } from "../api/client";
import { Problem } from "../parts/Problem";
import { StateIcon } from "../parts/StateIcon";
import { useFilters } from "../list/useFilters";
import { useKeys } from "../shell/useKeys";
import { shortTime } from "../time/formatTime";
import { useNow } from "../time/now";
import { useZone } from "../time/zone";
import { barLook, type Shape } from "./layoutShapes";
import type { Row } from "./rowOf";
import { shortageWords, worstShortages } from "./shortageWords";
import { TimelinePlot } from "./TimelinePlot";
import { TimelineTable } from "./TimelineTable";
import classes from "./timeline.module.css";
import { RANGES, rangeOf, type TimeWindow, windowOf } from "./timeWindow";
import { useTimeline } from "./useTimeline";

const COLUMNS = 400; // about as many pixels as bars are wide: when the picture changes

/** Past, now and future on one line, with what it takes against what there is. */
export function Timeline() {
  const [search, change] = useFilters();
  const range = rangeOf(search["range"]);
  const now = useNow(() => Math.max(1_000, RANGES[range] / COLUMNS)).getTime();
  const window = useMemo(() => windowOf(range, now, search["from"], search["until"]), [range, now, search]);
  const isZoomed = Boolean(search["from"] && search["until"]);
  const [asTable, setAsTable] = useState(false);
  const { query, rows, by } = useTimeline(window, now, search["by"]);
  const open = useOpenBar(by, window);
  const toNow = () => change({ from: undefined, until: undefined });
  useKeys({ n: toNow });
  const zoom = ({ from, until }: TimeWindow) => change({ from: new Date(from).toISOString(), until: new Date(until).toISOString() });
  const { slots = 0, busy = [], wanted = [], shortages = [] } = query.data ?? {};
  return (
    <Paper component="section" p="md" aria-label="Time line">
      <div className={classes.head}>
        <Title order={2}>Past, now and next</Title>
        {isZoomed && (
          <Button variant="default" leftSection={<IconZoomReset size={14} />} onClick={toNow}>
            Back to now
          </Button>
        )}
        <Button variant="subtle" color="gray" leftSection={<IconTable size={14} />} aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
          Table
        </Button>
        <SegmentedControl aria-label="Rows" data={ROWS} value={by} onChange={(chosen) => change({ by: chosen })} />
        <SegmentedControl
          aria-label="How far back"
          data={Object.keys(RANGES)}
          value={isZoomed ? "" : range}
          onChange={(chosen) => change({ range: chosen, from: undefined, until: undefined })}
        />
      </div>
      {query.error && <Problem error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending ? (
        <Skeleton height={280} />
      ) : (
        <div className={classes.grid}>
          <div>
            <ul className={classes.labels}>
              {rows.map((row) => (
                <li key={row.id}>
                  <RowLabel row={row} by={by} />
                </li>
              ))}
            </ul>
            <SlotsLabel slots={slots} most={Math.ceil(Math.max(0, ...[...busy, ...wanted].map((part) => part.slots)))} />
          </div>
          <TimelinePlot rows={rows} window={window} now={now} strip={{ slots, busy, wanted, shortages }} onZoom={zoom} onOpen={open} />
        </div>
      )}
      {query.data && <Foot data={query.data} rows={rows} now={now} />}
      <TimelineTable rows={rows} window={window} shown={asTable} />
    </Paper>
  );
}

const ROWS = [
  { value: "job", label: "Jobs" },
  { value: "task", label: "Tasks" },
];

function RowLabel({ row, by }: { row: Row; by: "job" | "task" }) {
  const latest = row.runs.filter(({ state }) => state !== "due").toSorted((one, other) => other.from - one.from)[0];
  const look = barLook(row.failing ? "failed" : (latest?.state ?? "due"));
  return (
    <>
      <StateIcon look={look} labelled />
      {by === "job" ? (
        <Link to="/jobs/$id" params={{ id: row.id }} title={row.title}>
          {row.title}
        </Link>
      ) : (
        <Link to="/executions" search={{ task: row.id }} title={row.title}>
          {row.title}
        </Link>
      )}
    </>
  );
}

function SlotsLabel({ slots, most }: { slots: number; most: number }) {
  return (
    <p className={classes.stripLabel} style={{ margin: 0 }}>
      <Link to="/workers" style={{ display: "block" }}>
        {slots === 0 ? "No worker" : `${slots.toLocaleString("en")} slots`}
      </Link>
      busy on average, then
      <br />
      wanted at once: up to {most.toLocaleString("en")}
    </p>
  );
}

function Foot({ data, rows, now }: { data: Schemas["TimelineView"]; rows: readonly Row[]; now: number }) {
  const zone = useZone();
  const words = (at: string | number) => shortTime(new Date(at), zone, new Date(now));
  const worst = worstShortages(data.shortages);
  const { due_known_until: knownUntil, by, more } = data;
  const cut = rows.filter(({ completeSince }) => completeSince !== undefined);
  return (
    <div className={classes.foot}>
      <div>
        {worst.length === 0 ? (
          <p>{data.wanted.length === 0 ? "Nothing that needs a worker is due." : `There are enough slots for all that is due${knownUntil === null ? "" : ` until ${words(knownUntil)}`}.`}</p>
        ) : (
          <ul>
            {worst.map((each) => (
              <li key={each.from} className={classes.shortage}>
                <IconAlertTriangle size={14} aria-hidden />
                {shortageWords(each, zone, now)}
              </li>
            ))}
          </ul>
        )}
        {knownUntil !== null && <p>More is due than can be listed: after {words(knownUntil)}, the strip shows averages.</p>}
        {cut.map(({ id, title, completeSince }) => (
          <p key={id}>
            {title} ran too often to show all of it: what was due before {words(completeSince ?? 0)} is left out.
          </p>
        ))}
        {more > 0 && (
          <p>
            {more.toLocaleString("en")} more {by === "job" ? "jobs" : "tasks"}: <Link to={by === "job" ? "/jobs" : "/executions"}>all of them</Link>
          </p>
        )}
      </div>
      <p className={classes.legend} aria-hidden>
        {["completed", "failed", "running", "retrying", "pending", "skipped", "due"].map((state) => (
          <span key={state}>
            <StateIcon look={barLook(state)} size={12} />
            {barLook(state).word}
          </span>
        ))}
      </p>
    </div>
  );
}

/** A bar of one execution leads to it, a bar of several to their list, and what is due to its job. */
function useOpenBar(by: "job" | "task", window: TimeWindow) {
  const navigate = useNavigate();
  return (row: Row, { bar }: Shape) => {
    if (bar.id) return void navigate({ to: "/executions/$id", params: { id: bar.id } });
    if (bar.state === "due") {
      return void (by === "job" ? navigate({ to: "/jobs/$id", params: { id: row.id } }) : navigate({ to: "/jobs", search: { task: row.id } }));
    }
    const span = { since: new Date(Math.max(bar.from - 60_000, window.from)).toISOString(), until: new Date(bar.until + 1000).toISOString() };
    const status = STATUSES.has(bar.state) ? { status: bar.state } : {};
    return void navigate({ to: "/executions", search: { ...(by === "job" ? { job: row.id } : { task: row.id }), ...span, ...status } });
  };
}

const STATUSES = new Set(["completed", "failed", "running", "cancelled", "skipped", "pending"]);
