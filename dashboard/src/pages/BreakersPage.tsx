import { useQuery } from "@tanstack/react-query";
import { answer, api, type Schemas } from "../api/client";
import { useMay } from "../api/session";
import type { Column } from "../list/columns";
import { DataTable } from "../list/DataTable";
import { rowsOf } from "../list/rowList";
import { ResetBreaker } from "../operations/ResetBreaker";
import { EmptyState } from "../parts/EmptyState";
import { PageHeader } from "../parts/PageHeader";
import { BreakerBadge } from "../parts/StatusBadge";
import { TimeText } from "../time/TimeText";

type BreakerView = Schemas["BreakerView"];

const COLUMNS: Column<BreakerView>[] = [
  { id: "destination", header: "Destination", width: 240, always: true, cell: ({ destination }) => destination },
  { id: "state", header: "State", width: 120, cell: ({ state }) => <BreakerBadge state={state} /> },
  { id: "since", header: "Since", width: 110, cell: ({ since }) => <TimeText at={since} /> },
  { id: "failures", header: "Failures", width: 110, align: "right", cell: ({ failures, calls }) => `${failures} of ${calls}` },
  { id: "waiting", header: "Waiting", width: 90, align: "right", cell: ({ waiting }) => waiting },
  { id: "probe", header: "Next try", width: 110, cell: ({ next_probe_at }) => <TimeText at={next_probe_at} /> },
  { id: "error", header: "Last error", width: 240, grows: true, cell: ({ last_error }) => last_error },
];

const COLUMNS_WITH_ACTIONS: Column<BreakerView>[] = [
  ...COLUMNS,
  {
    id: "actions",
    header: "",
    width: 90,
    always: true,
    cell: ({ destination, state, waiting }) => state !== "closed" && <ResetBreaker destination={destination} waiting={waiting} />,
  },
];

const rowId = ({ destination }: BreakerView) => destination;

export default function BreakersPage() {
  const may = useMay("write");
  const list = rowsOf(
    useQuery({
      queryKey: ["breakers", "list"],
      queryFn: async () => (await answer(api.GET("/v1/breakers"))).items,
    }),
  );
  return (
    <>
      <PageHeader title="Breakers" sentence="A destination that keeps failing is left alone for a while; its executions wait." />
      <DataTable
        name="breakers"
        label="Breakers"
        noun="breaker"
        columns={may ? COLUMNS_WITH_ACTIONS : COLUMNS}
        list={list}
        rowId={rowId}
        empty={<EmptyState title="Every destination answers" text="When a destination of HTTP jobs keeps failing, its breaker opens: calls wait until it works again." command="tickwork breaker list" />}
      />
    </>
  );
}
