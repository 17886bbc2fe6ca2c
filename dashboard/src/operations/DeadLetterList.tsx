import { Button } from "@mantine/core";
import { answer, api, type Schemas } from "../api/client";
import { useMay } from "../api/session";
import type { Column } from "../list/columns";
import { DataTable } from "../list/DataTable";
import { usePagedList } from "../list/usePagedList";
import { EmptyState } from "../parts/EmptyState";
import { ExecutionLink, JobLink } from "../parts/links";
import { useAction } from "../parts/useAction";
import { TimeText } from "../time/TimeText";

type DeadLetter = Schemas["DeadLetterView"];

const COLUMNS: Column<DeadLetter>[] = [
  { id: "id", header: "Execution", width: 180, always: true, cell: ({ id }) => <ExecutionLink id={id} /> },
  { id: "job", header: "Job", width: 180, grows: true, cell: (each) => <JobLink job={{ id: each.job_id, name: each.job_name, key: each.job_key }} /> },
  { id: "error", header: "Error", width: 240, grows: true, cell: ({ error, reason }) => error?.message ?? reason },
  { id: "attempts", header: "Attempts", width: 90, align: "right", cell: ({ attempts }) => attempts },
  { id: "failed", header: "Failed", width: 110, cell: ({ failed_at }) => <TimeText at={failed_at} /> },
];

const COLUMNS_WITH_ACTIONS: Column<DeadLetter>[] = [
  ...COLUMNS,
  { id: "actions", header: "", width: 100, always: true, cell: ({ id }) => <Redrive id={id} /> },
];

const rowId = ({ id }: DeadLetter) => id;

/** Dead letters one by one, latest first. */
export function DeadLetterList({ filters }: { filters: { task?: string; error?: string } }) {
  const may = useMay("write");
  const list = usePagedList<DeadLetter>({
    queryKey: ["dead-letters", "list", filters],
    fetchPage: (cursor) => answer(api.GET("/v1/dead-letters", { params: { query: { ...filters, limit: 100, ...(cursor ? { cursor } : {}) } } })),
    rowId,
    holdsNew: true,
  });
  return (
    <DataTable
      name="dead-letters"
      label="Dead letters"
      columns={may ? COLUMNS_WITH_ACTIONS : COLUMNS}
      list={list}
      rowId={rowId}
      empty={<EmptyState title="No dead letters" command="tickwork dead-letter list" />}
    />
  );
}

function Redrive({ id }: { id: string }) {
  const redriving = useAction({
    act: () => answer(api.POST("/v1/dead-letters/redrive", { body: { ids: [id] } as Schemas["RedriveRequest"] })),
    done: () => `${id} is tried again`,
    changes: ["dead-letters", "errors", "executions", "overview"],
  });
  return (
    <Button size="compact-xs" variant="default" loading={redriving.isPending} onClick={() => redriving.mutate(undefined)}>
      Redrive
    </Button>
  );
}
