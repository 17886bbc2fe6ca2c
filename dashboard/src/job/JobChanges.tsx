import { answer, api, type Schemas } from "../api/client";
import type { Column } from "../list/columns";
import { DataTable } from "../list/DataTable";
import { usePagedList } from "../list/usePagedList";
import { EmptyState } from "../parts/EmptyState";
import { TimeText } from "../time/TimeText";
import { changeWords, detailWords } from "./changeWords";
import type { Job } from "./useJobActions";

type StreamEvent = Schemas["StreamEvent"];

const COLUMNS: Column<StreamEvent>[] = [
  { id: "what", header: "What", width: 140, always: true, cell: ({ kind }) => changeWords(kind) },
  { id: "when", header: "When", width: 110, cell: ({ at }) => <TimeText at={at} /> },
  { id: "at", header: "At", width: 140, cell: ({ at }) => <TimeText at={at} absolute /> },
  { id: "detail", header: "Detail", width: 300, grows: true, cell: ({ detail }) => detailWords(detail as Record<string, unknown>) },
];

const KINDS = "job.created,job.changed,job.paused,job.resumed,job.cancelled";

/** What was done to the definition of a job: when, what, and by whom as far as it is recorded. */
export function JobChanges({ job }: { job: Job }) {
  const list = usePagedList<StreamEvent>({
    queryKey: ["events", "of-job", job.id],
    fetchPage: (cursor) => {
      const query = { job: job.id, kind: KINDS, limit: 100, ...(cursor ? { cursor } : {}) };
      return answer(api.GET("/v1/events", { params: { query } })) as Promise<{ items: StreamEvent[]; next_cursor: string | null }>;
    },
    rowId: ({ id, kind, at }) => String(id ?? `${kind} ${at}`),
  });
  return (
    <DataTable
      name="changes-of-job"
      label="Changes of this job"
      columns={COLUMNS}
      list={list}
      rowId={({ id, kind, at }) => String(id ?? `${kind} ${at}`)}
      empty={<EmptyState title="Nothing is recorded" text="Changes are kept as long as the history." command={`tickwork job edit ${job.id} --name NAME`} />}
    />
  );
}
