import { useQuery } from "@tanstack/react-query";
import type { Column } from "../list/columns";
import { rowsOf } from "../list/rowList";
import { SimpleTable } from "../list/SimpleTable";
import { Card } from "../parts/Card";
import { jobTitle } from "../parts/jobTitle";
import { JobLink } from "../parts/links";
import { TimeText } from "../time/TimeText";
import classes from "./overview.module.css";
import { overviewQuery } from "./overviewQueries";
import type { NextRun } from "./overviewTypes";

const COLUMNS: Column<NextRun>[] = [
  { id: "at", header: "Due", width: 92, cell: ({ at }) => <TimeText at={at} due /> },
  { id: "job", header: "Job", width: 160, grows: true, cell: ({ job_id, ...job }) => <JobLink job={{ id: job_id, name: jobTitle({ ...job, id: job_id }) }} /> },
  { id: "queue", header: "Queue", width: 96, cell: ({ queue }) => queue },
];

export function NextRuns() {
  const query = useQuery({ ...overviewQuery, select: ({ next_runs }) => next_runs });
  return (
    <Card title="Next runs">
      <SimpleTable label="What is due next" columns={COLUMNS} list={rowsOf(query)} rowId={({ at, job_id }) => at + job_id} empty={<p className={classes.more}>Nothing is due.</p>} />
    </Card>
  );
}
