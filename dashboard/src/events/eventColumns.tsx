import { Link } from "@tanstack/react-router";
import type { Schemas } from "../api/client";
import type { Column } from "../list/columns";
import { jobTitle } from "../parts/jobTitle";
import { ExecutionLink, JobLink } from "../parts/links";
import { StateIcon } from "../parts/StateIcon";
import { TimeText } from "../time/TimeText";
import { meaningOf } from "./eventKinds";
import classes from "./events.module.css";
import { detailWords } from "./liveRows";

type StreamEvent = Schemas["StreamEvent"];

export const COLUMNS: Column<StreamEvent>[] = [
  { id: "at", header: "When", width: 100, always: true, cell: ({ at }) => <TimeText at={at} /> },
  { id: "kind", header: "Kind", width: 190, always: true, cell: ({ kind }) => <Kind kind={kind} /> },
  {
    id: "job",
    header: "Job",
    width: 220,
    cell: ({ job_id, job_name, job_key, task }) => job_id && <JobLink job={{ id: job_id, name: jobTitle({ id: job_id, name: job_name, key: job_key, task }) }} />,
  },
  { id: "execution", header: "Execution", width: 150, cell: ({ execution_id }) => execution_id && <ExecutionLink id={execution_id} /> },
  { id: "queue", header: "Queue", width: 100, cell: ({ queue }) => queue && <Link to="/queues" search={{ queue }}>{queue}</Link> },
  { id: "task", header: "Task", width: 150, extra: true, cell: ({ task }) => task },
  { id: "detail", header: "More", width: 220, grows: true, cell: (event) => <span title={detailWords(event)}>{detailWords(event)}</span> },
];

function Kind({ kind }: { kind: string }) {
  const { look, words } = meaningOf(kind);
  return (
    <span className={classes.kind} data-tip={words}>
      <StateIcon look={look} />
      <code>{kind}</code>
    </span>
  );
}
