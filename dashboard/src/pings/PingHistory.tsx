import { useState } from "react";
import { answer, api, type Schemas } from "../api/client";
import { OutcomeStrip } from "../jobs/OutcomeStrip";
import type { Column } from "../list/columns";
import { DataTable } from "../list/DataTable";
import { usePagedList } from "../list/usePagedList";
import { Card } from "../parts/Card";
import { CodeBlock } from "../parts/CodeBlock";
import { EmptyState } from "../parts/EmptyState";
import { StateBadge } from "../parts/StatusBadge";
import { lookOf, PING_RUN_LOOKS } from "../parts/states";
import { Duration } from "../time/Duration";
import { TimeText } from "../time/TimeText";
import { type Ping, stripOf } from "./pingColumns";
import classes from "./Pings.module.css";

type Run = Schemas["PingRunView"];

const COLUMNS: Column<Run>[] = [
  { id: "outcome", header: "Outcome", width: 150, always: true, cell: (run) => <StateBadge look={lookOf(PING_RUN_LOOKS, run.outcome)} detail={detailOf(run)} /> },
  { id: "due", header: "Due", width: 120, cell: ({ due_at }) => <TimeText at={due_at} absolute missing="unexpected" /> },
  { id: "ended", header: "Ended", width: 100, cell: ({ outcome, ended_at }) => (outcome === "missing" ? "–" : <TimeText at={ended_at} />) },
  { id: "took", header: "Took", width: 96, align: "right", cell: ({ outcome, run_time }) => <Duration seconds={outcome === "missing" ? null : run_time} /> },
  { id: "delay", header: "Delay", width: 80, align: "right", cell: ({ outcome, delay }) => <Duration seconds={outcome === "missing" || delay === null ? null : Math.max(0, delay)} /> },
  { id: "log", header: "Log", width: 220, grows: true, cell: ({ log }) => lastLine(log) },
  { id: "number", header: "Number", width: 80, align: "right", extra: true, cell: ({ number }) => number },
];

const rowId = ({ number }: Run) => String(number);

/** What became of the runs of a ping, latest first; a click on one shows its log. */
export function PingHistory({ ping }: { ping: Ping }) {
  const { name } = ping;
  const [openedNumber, setOpenedNumber] = useState<number | null>(null);
  const list = usePagedList<Run>({
    queryKey: ["pings", "history", name],
    fetchPage: (cursor) =>
      answer(api.GET("/v1/pings/{name}/history", { params: { path: { name }, query: { limit: 50, ...(cursor ? { cursor } : {}) } } })),
    rowId,
    refetchInterval: 5_000, // a success is no event
  });
  const opened = list.rows.find(({ number }) => number === openedNumber);
  return (
    <>
      <DataTable
        name="ping-history"
        label="Runs of this ping"
        toolbar={
          <>
            <h2 className={classes.title}>Runs</h2>
            <OutcomeStrip runs={stripOf(ping.recent_runs)} />
          </>
        }
        columns={COLUMNS}
        list={list}
        rowId={rowId}
        onOpen={({ number }) => setOpenedNumber(number)}
        empty={<EmptyState title="Nothing was heard yet" text="Call its URL when a run has ended: the lines are beside this." />}
      />
      {opened?.log && (
        <Card title={`The end of the log of run ${opened.number}`}>
          <CodeBlock code={opened.log} what="the log" maxHeight={260} wrap />
        </Card>
      )}
    </>
  );
}

function detailOf({ missed, exit_code }: Run): string | undefined {
  if (missed > 1) return `${missed} in a row`;
  return exit_code ? `exit ${exit_code}` : undefined;
}

function lastLine(log: string | null): string {
  return log?.trimEnd().split("\n").at(-1) || "–";
}
