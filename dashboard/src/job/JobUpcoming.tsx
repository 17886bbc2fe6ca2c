import { useQuery } from "@tanstack/react-query";
import { answer, api } from "../api/client";
import type { Column } from "../list/columns";
import { rowsOf } from "../list/rowList";
import { SimpleTable } from "../list/SimpleTable";
import { Card } from "../parts/Card";
import { EmptyState } from "../parts/EmptyState";
import { formatDuration } from "../time/formatDuration";
import { absoluteTime } from "../time/formatTime";
import { useNow } from "../time/now";
import { zoneOf } from "../time/ScheduleWords";
import { TimeText } from "../time/TimeText";
import { MY_ZONE } from "../time/zone";
import classes from "./Job.module.css";
import type { Job } from "./useJobActions";

interface UpcomingTime {
  at: string;
  note: string | null;
  zone: string;
}

const COLUMNS: Column<UpcomingTime>[] = [
  { id: "in", header: "When", width: 130, cell: ({ at }) => <TimeLeft at={at} /> },
  { id: "job", header: "In the job's zone", width: 250, grows: true, cell: ({ at, zone }) => absoluteTime(new Date(at), zone) },
  { id: "mine", header: `You, ${MY_ZONE}`, width: 250, cell: ({ at }) => absoluteTime(new Date(at), MY_ZONE) },
  { id: "note", header: "Note", width: 200, grows: true, cell: ({ note }) => note },
];

const MINUTE = 60; // seconds

/** To the minute: many due times of a list are one day away. */
function TimeLeft({ at }: { at: string }) {
  const now = useNow(() => 10_000);
  const seconds = (Date.parse(at) - now.getTime()) / 1000;
  return seconds < MINUTE ? <TimeText at={at} due /> : <>in {formatDuration(Math.round(seconds / MINUTE) * MINUTE)}</>;
}

/** The next 50 due times of a job, with what the clocks and the holidays do to them. */
export function JobUpcoming({ job }: { job: Job }) {
  const zone = zoneOf(job.schedule) ?? "UTC";
  const preview = useQuery({
    queryKey: ["upcoming", "of-job", job.id, job.version],
    queryFn: () => answer(api.POST("/v1/schedules/preview", { body: { schedule: job.schedule, count: 50, viewer_timezone: MY_ZONE } as never })),
    enabled: job.execution_id === null,
  });
  const rows = preview.data?.times.map(({ at, note }) => ({ at, note, zone }));
  const empty = new Set([zone === MY_ZONE && "mine", !rows?.some(({ note }) => note) && "note"]);
  if (job.execution_id !== null) {
    return (
      <Card>
        <EmptyState title="It is due one time" text={<TimeText at={job.next_run_at} absolute missing="It has run, or was cancelled." />} />
      </Card>
    );
  }
  return (
    <Card title={job.status === "paused" ? "When it would run if it were not paused" : "Upcoming"}>
      {preview.data?.warnings.map((words) => (
        <p key={words} className={classes.secondary}>
          {words}
        </p>
      ))}
      <SimpleTable label="Upcoming times" columns={COLUMNS.filter(({ id }) => !empty.has(id))} list={rowsOf({ ...preview, data: rows })} rowId={({ at }) => at} empty={<EmptyState title="It has no due time left" />} />
    </Card>
  );
}
