import { Badge } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "../api/client";
import type { Column } from "../list/columns";
import { JobLink } from "../parts/links";
import { StateIcon } from "../parts/StateIcon";
import { executionLook } from "../parts/states";
import { HealthBadge, JobBadge } from "../parts/StatusBadge";
import { Duration } from "../time/Duration";
import { ScheduleWords, zoneOf } from "../time/ScheduleWords";
import { TimeText } from "../time/TimeText";
import classes from "./jobColumns.module.css";
import { OutcomeStrip } from "./OutcomeStrip";

export type Job = Schemas["JobView"];

export const JOB_COLUMNS: Column<Job>[] = [
  { id: "name", header: "Name", width: 220, grows: true, always: true, cell: (job) => <Name job={job} /> },
  { id: "status", header: "Status", width: 98, cell: ({ status }) => <JobBadge status={status} /> },
  { id: "health", header: "Health", width: 126, sort: "health", cell: (job) => <HealthBadge health={job.health} failures={job.failures_in_a_row} /> },
  { id: "strip", header: "Last 30 runs", width: 170, cell: ({ recent_runs }) => <OutcomeStrip runs={recent_runs} /> },
  { id: "schedule", header: "Schedule", width: 166, grows: true, cell: (job) => <Schedule job={job} /> },
  { id: "next", header: "Next run", width: 116, sort: "next_run_at", cell: (job) => <TimeText at={job.next_run_at} jobZone={zoneOf(job.schedule)} /> },
  { id: "last", header: "Last run", width: 116, cell: (job) => <LastRun job={job} /> },
  { id: "queue", header: "Queue", width: 104, cell: ({ queue }) => <Link to="/queues" search={{ queue }}>{queue}</Link> },
  { id: "task", header: "Task", width: 160, extra: true, cell: ({ task, http, command }) => task ?? http?.url ?? command?.join(" ") },
  { id: "priority", header: "Priority", width: 90, extra: true, cell: ({ priority }) => priority },
  { id: "owner", header: "Owner", width: 120, extra: true, cell: ({ owner }) => owner ?? "–" },
  { id: "running", header: "Running", width: 80, align: "right", extra: true, cell: ({ running }) => running || "–" },
  { id: "duration", header: "Last took", width: 90, align: "right", extra: true, cell: ({ last_run }) => <Duration seconds={last_run?.duration} /> },
  { id: "zone", header: "Zone", width: 130, extra: true, cell: ({ schedule }) => zoneOf(schedule) ?? "–" },
  { id: "key", header: "Key", width: 140, extra: true, cell: ({ key }) => key ?? "–" },
  { id: "id", header: "Id", width: 100, extra: true, cell: ({ id }) => <code>{id}</code> },
  { id: "created", header: "Created", width: 110, sort: "created_at", extra: true, cell: (job) => <TimeText at={job.created_at} /> },
];

function Name({ job }: { job: Job }) {
  return (
    <span className={classes.name}>
      <JobLink job={job} />
      {job.tags.slice(0, 3).map((tag) => (
        <Badge key={tag} variant="default" size="xs" className={classes.tag}>
          {tag}
        </Badge>
      ))}
    </span>
  );
}

function Schedule({ job }: { job: Job }) {
  const zone = zoneOf(job.schedule);
  const { at } = job.schedule as { at?: unknown };
  if (typeof at === "string") return <>once, <TimeText at={at} absolute /></>;
  return (
    <>
      <ScheduleWords words={job.schedule_words} schedule={job.schedule} />
      {zone && !job.schedule_words.includes(zone) && <span className={classes.zone}> {zone}</span>}
    </>
  );
}

function LastRun({ job }: { job: Job }) {
  const last = job.last_run;
  if (!last) return <span>–</span>;
  return (
    <Link to="/executions/$id" params={{ id: last.execution_id }} className={classes.last}>
      <StateIcon look={executionLook(last.status)} labelled />
      <TimeText at={last.finished_at} jobZone={zoneOf(job.schedule)} />
    </Link>
  );
}
