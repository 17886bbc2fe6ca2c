import { Button } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { Link, useNavigate } from "@tanstack/react-router";
import { answer, api } from "../api/client";
import { useMay } from "../api/session";
import { DataTable } from "../list/DataTable";
import { FilterBar, type FilterField } from "../list/FilterBar";
import { useFilters } from "../list/useFilters";
import { usePagedList } from "../list/usePagedList";
import { EmptyState } from "../parts/EmptyState";
import { PageHeader } from "../parts/PageHeader";
import { type Ping, PING_COLUMNS } from "../pings/pingColumns";

const FIELDS: FilterField[] = [
  { name: "q", kind: "search", label: "Search", placeholder: "A part of the name" },
  { name: "status", kind: "choice", label: "State", options: ["ok", "late", "missing", "failed", "new"] },
];

const rowId = ({ name }: Ping) => name;

/** What runs elsewhere, and whether it came. */
export default function PingsPage() {
  const mayWrite = useMay("write");
  const navigate = useNavigate();
  const [filters, change] = useFilters();
  const { status, q } = filters;
  const list = usePagedList<Ping>({
    queryKey: ["pings", "list", status, q],
    fetchPage: (cursor) => {
      const query = { limit: 100, ...(status ? { status } : {}), ...(q ? { q } : {}), ...(cursor ? { cursor } : {}) };
      return answer(api.GET("/v1/pings", { params: { query: query as never } }));
    },
    rowId,
    refetchInterval: 10_000, // a success is no event
  });
  const create = mayWrite && (
    <Button component={Link} to="/pings/new" leftSection={<IconPlus size={14} />}>
      New ping
    </Button>
  );
  return (
    <>
      <PageHeader title="Pings" sentence="What runs elsewhere reports here. What stays away is noticed." actions={create} />
      <FilterBar fields={FIELDS} value={filters} onChange={change} />
      <DataTable
        name="pings"
        label="Pings"
        noun="ping"
        columns={PING_COLUMNS}
        list={list}
        rowId={rowId}
        onOpen={({ name }) => void navigate({ to: "/pings/$name", params: { name } })}
        empty={
          <EmptyState
            title={status || q ? "No ping matches" : "No pings yet"}
            text="A server's own cron job, a partner's file, a backup: say when it is expected, and call its URL when it is done."
            command='tickwork ping set backup --schedule "0 2 * * *" --grace 30m'
          />
        }
      />
    </>
  );
}
