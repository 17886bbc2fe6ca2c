import { Button, Switch } from "@mantine/core";
import { IconPlayerPause, IconPlayerPlay } from "@tabler/icons-react";
import { useState } from "react";
import { answer, api, type Schemas } from "../api/client";
import { KIND_CHOICES } from "../events/eventKinds";
import { COLUMNS } from "../events/eventColumns";
import { KindMeanings } from "../events/KindMeanings";
import { isWanted, mergeRows } from "../events/liveRows";
import { DataTable } from "../list/DataTable";
import { FilterBar, type FilterField } from "../list/FilterBar";
import { useFilters } from "../list/useFilters";
import { type Page, usePagedList } from "../list/usePagedList";
import { useLiveEvents } from "../live/useLive";
import { EmptyState } from "../parts/EmptyState";
import { PageHeader } from "../parts/PageHeader";
import { useKeys } from "../shell/useKeys";

type StreamEvent = Schemas["StreamEvent"];

const MOST_LIVE = 300;

const FIELDS: FilterField[] = [
  { name: "kind", label: "Kind", kind: "choice", options: KIND_CHOICES, width: 180 },
  { name: "job", label: "Job", kind: "text", placeholder: "Job id or key:NAME", width: 160 },
  { name: "task", label: "Task", kind: "text", width: 160 },
  { name: "queue", label: "Queue", kind: "text", width: 120 },
  { name: "tag", label: "Tag", kind: "text", width: 120 },
];

export default function EventsPage() {
  const [search, change] = useFilters();
  const [paused, setPaused] = useState(false);
  const [isOver, setIsOver] = useState(false);
  const filter = { kind: search["kind"], job: search["job"], task: search["task"], queue: search["queue"], tag: search["tag"] };
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value));
  const list = usePagedList<StreamEvent>({
    queryKey: ["events", "list", given],
    fetchPage: async (cursor) =>
      (await answer(api.GET("/v1/events", { params: { query: { ...given, limit: 100, ...(cursor ? { cursor } : {}) } } }))) as Page<StreamEvent>,
    rowId,
    holdsNew: paused || isOver,
  });
  const hasPulse = search["pulse"] === "true" && !filter.tag;
  const pulse = usePulse(hasPulse && !paused && !isOver, filter);
  const pause = () => {
    if (!paused) list.showFresh();
    setPaused(!paused);
  };
  /** What somebody points at stays where it is. */
  const enter = () => {
    if (!paused) list.showFresh();
    setIsOver(true);
  };
  useKeys({ p: pause });
  return (
    <>
      <PageHeader
        title="Events"
        sentence={paused ? "Paused: what happens meanwhile is counted, not shown." : "What happens to jobs, executions, workers, queues and keys, as it happens."}
        actions={
          <Button variant="default" aria-pressed={paused} leftSection={paused ? <IconPlayerPlay size={14} /> : <IconPlayerPause size={14} />} onClick={pause}>
            {paused ? "Go on" : "Pause"}
          </Button>
        }
      />
      <FilterBar fields={FIELDS} value={search} onChange={change}>
        <Switch
          label="Starts and ends, live"
          checked={hasPulse}
          disabled={Boolean(filter.tag)}
          onChange={(event) => change({ pulse: event.currentTarget.checked ? "true" : undefined })}
        />
      </FilterBar>
      <div onPointerEnter={enter} onPointerLeave={() => setIsOver(false)}>
        <DataTable
          name="events"
          label="Events"
          noun="event"
          columns={COLUMNS}
          list={hasPulse ? { ...list, rows: mergeRows(list.rows, pulse) } : list}
          rowId={rowId}
          empty={
            Object.keys(given).length > 0 ? (
              <EmptyState title="No event matches" text="Take a filter away, or wait: what happens shows here at once." />
            ) : (
              <EmptyState title="No events yet" text="What happens to jobs, executions, workers, queues and keys shows here." command="tickwork events --follow" />
            )
          }
        />
      </div>
      <KindMeanings />
    </>
  );
}

function rowId({ id, kind, execution_id, at }: StreamEvent): string {
  return id === null ? `${kind} ${execution_id} ${at}` : String(id);
}

/** Starts and ends as they happen; the latest are remembered while the page is open. */
function usePulse(enabled: boolean, filter: Parameters<typeof isWanted>[1]): StreamEvent[] {
  const [rows, setRows] = useState<StreamEvent[]>([]);
  useLiveEvents((event) => {
    const row = event as unknown as StreamEvent;
    if (enabled && isWanted(row, filter)) setRows((old) => [{ ...row, id: row.id ?? null }, ...old].slice(0, MOST_LIVE));
  });
  return rows.filter((row) => isWanted(row, filter));
}
