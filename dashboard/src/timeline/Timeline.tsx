import { Button, Paper, SegmentedControl, Skeleton, Title } from "@mantine/core";
import { IconAlertTriangle, IconTable, IconZoomReset } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { Problem } from "../parts/Problem";
import { StateIcon } from "../parts/StateIcon";
import { useFilters } from "../list/useFilters";
import { useKeys } from "../shell/useKeys";
import { shortTime } from "../time/formatTime";
import { useNow } from "../time/now";
import { useZone } from "../time/zone";
import { type Shortage, shortages, type Wanted } from "./expectedConcurrency";
import { barLook, type Shape } from "./layoutShapes";
import { countedDemand } from "./runTimes";
import { shortageWords, worstShortages } from "./shortageWords";
import { dueCountsQuery } from "./timelineQueries";
import { TimelinePlot } from "./TimelinePlot";
import { TimelineTable } from "./TimelineTable";
import classes from "./timeline.module.css";
import { RANGES, rangeOf, type TimeWindow, windowOf } from "./timeWindow";
import { type Lane, useTimeline } from "./useTimeline";

const COLUMNS = 400; // about as many pixels as bars are wide: when the picture changes
const USUAL_LENGTH = 1_000; // milliseconds, of a task that never ran

/** Past, now and future on one line, with what it takes against what there is. */
export function Timeline() {
  const [search, change] = useFilters();
  const range = rangeOf(search["range"]);
  const now = useNow(() => Math.max(1_000, RANGES[range] / COLUMNS)).getTime();
  const window = useMemo(() => windowOf(range, now, search["from"], search["until"]), [range, now, search]);
  const isZoomed = Boolean(search["from"] && search["until"]);
  const [asTable, setAsTable] = useState(false);
  const data = useTimeline(window, now, search["by"]);
  const demand = useDemand(data, now);
  const open = useOpenBar(data.by, window);
  const toNow = () => change({ from: undefined, until: undefined });
  useKeys({ n: toNow });
  const zoom = ({ from, until }: TimeWindow) => change({ from: new Date(from).toISOString(), until: new Date(until).toISOString() });
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
        <SegmentedControl aria-label="Lanes" data={LANES} value={data.by} onChange={(by) => change({ by })} />
        <SegmentedControl
          aria-label="How far back"
          data={Object.keys(RANGES)}
          value={isZoomed ? "" : range}
          onChange={(chosen) => change({ range: chosen, from: undefined, until: undefined })}
        />
      </div>
      {Boolean(data.error) && <Problem error={data.error} onRetry={data.retry} />}
      {data.isLoading ? (
        <Skeleton height={280} />
      ) : (
        <div className={classes.grid}>
          <div>
            <ul className={classes.labels}>
              {data.lanes.map((lane) => (
                <li key={lane.id}>
                  <LaneLabel lane={lane} by={data.by} />
                </li>
              ))}
            </ul>
            <SlotsLabel slots={data.slots} />
          </div>
          <TimelinePlot lanes={data.lanes} window={window} now={now} strip={{ ...demand, slots: data.slots, busy: data.busy, busyStep: data.busyStep }} onZoom={zoom} onOpen={open} />
        </div>
      )}
      <Foot demand={demand} left={data.left} by={data.by} now={now} knownUntil={data.due && data.due.until < data.ahead.until ? data.due.until : null} />
      <TimelineTable lanes={data.lanes} window={window} shown={asTable} />
    </Paper>
  );
}

const LANES = [
  { value: "job", label: "Jobs" },
  { value: "task", label: "Tasks" },
];

function LaneLabel({ lane, by }: { lane: Lane; by: "job" | "task" }) {
  const latest = lane.runs.filter(({ state }) => state !== "due").toSorted((one, other) => other.from - one.from)[0];
  const look = barLook(lane.failing ? "failed" : (latest?.state ?? "due"));
  return (
    <>
      <StateIcon look={look} labelled />
      {by === "job" ? (
        <Link to="/jobs/$id" params={{ id: lane.id }} title={lane.title}>
          {lane.title}
        </Link>
      ) : (
        <Link to="/executions" search={{ task: lane.id }} title={lane.title}>
          {lane.title}
        </Link>
      )}
    </>
  );
}

function SlotsLabel({ slots }: { slots: number }) {
  return (
    <p className={classes.stripLabel} style={{ margin: 0 }}>
      <Link to="/workers" style={{ display: "block" }}>
        {slots === 0 ? "No worker" : `${slots.toLocaleString("en")} slots`}
      </Link>
      busy, then wanted
    </p>
  );
}

interface Demand {
  wanted: Wanted[];
  counted: { at: number; wanted: number }[];
  countedStep: number;
  shortages: Shortage[];
}

/** What will want a slot: one by one as far as due times are known, and counted beyond. HTTP calls need no worker. */
function useDemand({ due, typical, ahead, slots }: ReturnType<typeof useTimeline>, now: number): Demand {
  const knownUntil = due?.until ?? ahead.until;
  const countedStep = Math.max(1_000, Math.ceil((ahead.until - ahead.from) / 100_000) * 1_000);
  const beyond = { from: knownUntil, until: ahead.until };
  const counts = useQuery(dueCountsQuery(beyond, countedStep, Boolean(due) && knownUntil < ahead.until));
  const minute = Math.floor(now / 10_000) * 10_000;
  return useMemo(() => {
    const wanted = (due?.items ?? [])
      .filter(({ task, at }) => task !== "http" && Date.parse(at) >= minute)
      .map(({ at, task }) => ({ at: Date.parse(at), length: typical.get(task) ?? USUAL_LENGTH }));
    const counted = knownUntil < ahead.until ? countedDemand(counts.data ?? [], typical, USUAL_LENGTH, countedStep) : [];
    return { wanted, counted, countedStep, shortages: shortages(wanted, slots) };
  }, [due, typical, slots, counts.data, knownUntil, ahead.until, countedStep, minute]);
}

interface FootProps {
  demand: Demand;
  left: number;
  by: "job" | "task";
  now: number;
  knownUntil: number | null;
}

function Foot({ demand, left, by, now, knownUntil }: FootProps) {
  const zone = useZone();
  const worst = worstShortages(demand.shortages);
  return (
    <div className={classes.foot}>
      <div>
        {worst.length === 0 ? (
          <p>{demand.wanted.length === 0 ? "Nothing that needs a worker is due." : `There are enough slots for all that is due${knownUntil === null ? "" : ` until ${shortTime(new Date(knownUntil), zone, new Date(now))}`}.`}</p>
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
        {knownUntil !== null && <p>More is due than lanes can show: they end at {shortTime(new Date(knownUntil), zone, new Date(now))}, and the strip goes on with averages.</p>}
        {left > 0 && (
          <p>
            {left.toLocaleString("en")} more {by === "job" ? "jobs" : "tasks"}: <Link to={by === "job" ? "/jobs" : "/executions"}>all of them</Link>
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
  return (lane: Lane, { bar }: Shape) => {
    if (bar.id) return void navigate({ to: "/executions/$id", params: { id: bar.id } });
    if (bar.state === "due") {
      return void (by === "job" ? navigate({ to: "/jobs/$id", params: { id: lane.id } }) : navigate({ to: "/jobs", search: { task: lane.id } }));
    }
    const span = { since: new Date(Math.max(bar.from - 60_000, window.from)).toISOString(), until: new Date(bar.until + 1000).toISOString() };
    const status = STATUSES.has(bar.state) ? { status: bar.state } : {};
    return void navigate({ to: "/executions", search: { ...(by === "job" ? { job: lane.id } : { task: lane.id }), ...span, ...status } });
  };
}

const STATUSES = new Set(["completed", "failed", "running", "cancelled", "skipped", "pending"]);
