import type { Schemas } from "../api/client";
import { executionLook } from "../parts/states";
import { formatDuration } from "../time/formatDuration";
import { useSeconds } from "../time/now";
import classes from "./WaitAndRun.module.css";

/** How long an execution waited and how long it ran, as two parts of one bar, with the words beside it. */
export function WaitAndRun({ execution }: { execution: Schemas["ExecutionView"] }) {
  if (!execution.started_at) return <span>–</span>;
  return execution.finished_at ? <Bar execution={execution} until={Date.parse(execution.finished_at)} /> : <Growing execution={execution} />;
}

function Growing({ execution }: { execution: Schemas["ExecutionView"] }) {
  return <Bar execution={execution} until={useSeconds().getTime()} />;
}

function Bar({ execution, until }: { execution: Schemas["ExecutionView"]; until: number }) {
  const started = Date.parse(execution.started_at ?? "");
  const waited = Math.max(0, started - Date.parse(execution.due_at));
  const ran = Math.max(0, until - started);
  const share = waited + ran > 0 ? waited / (waited + ran) : 0;
  const look = executionLook(execution.status, execution.waiting_for);
  return (
    <span className={classes.cell} data-tip={`waited ${formatDuration(waited / 1000)}, ran ${formatDuration(ran / 1000)}`}>
      <span className={classes.bar} aria-hidden>
        <span className={classes.waited} style={{ width: `${share * 100}%` }} />
        <span className={classes.ran} style={{ background: look.color }} />
      </span>
      {formatDuration(ran / 1000)}
    </span>
  );
}
