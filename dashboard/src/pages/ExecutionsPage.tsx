import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { answer, api } from "../api/client";
import { useMay } from "../api/session";
import type { BulkTarget } from "../bulk/bulkRun";
import { EXECUTION_ACTION_WORDS, type ExecutionAction } from "../executions/executionBulkWords";
import { ExecutionBulkActions } from "../executions/ExecutionBulkActions";
import { EXECUTION_COLUMNS, type Execution } from "../executions/executionColumns";
import { conditionsOf, fieldsFor, filterWords, isFiltered, VIEWS } from "../executions/executionFilters";
import { type ExecutionPage, executionListQuery } from "../executions/executionListQuery";
import { DataTable } from "../list/DataTable";
import { FilterBar, type Filters } from "../list/FilterBar";
import { NOTHING, useSelection } from "../list/selection";
import { useFilters } from "../list/useFilters";
import { usePagedList } from "../list/usePagedList";
import { ViewChoice } from "../list/ViewChoice";
import { EmptyState } from "../parts/EmptyState";
import { PageHeader } from "../parts/PageHeader";
import { TimeText } from "../time/TimeText";

// Beside the table, not in it: the table changes while the dialog works.
const BulkDialog = lazy(() => import("../bulk/BulkDialog"));

const route = getRouteApi("/inside/executions/");

/** Every run of every job, in all states. */
export default function ExecutionsPage() {
  const filters: Filters = route.useSearch();
  const [, change] = useFilters();
  const navigate = useNavigate();
  const mayWrite = useMay("write");
  const [selection, select] = useSelection(JSON.stringify(filters));
  const [more, setMore] = useState(false);
  const [asked, setAsked] = useState<{ action: ExecutionAction; target: BulkTarget; meant: string } | null>(null);
  const list = usePagedList<Execution, ExecutionPage>({ ...executionListQuery(filters), rowId: ({ id }) => id, holdsNew: true });
  const searchedUntil = list.lastPage?.searched_until ?? null;
  const count = useExecutionCount(filters);
  const ask = (action: ExecutionAction) => {
    const matching = filterWords(filters);
    setAsked({
      action,
      target: selection.all ? { filter: conditionsOf(filters, new Date()) } : { ids: [...selection.ids] },
      meant: selection.all ? `all executions${matching ? ` with ${matching}` : ""}` : `${selection.ids.size} selected`,
    });
  };
  return (
    <>
      <PageHeader title="Executions" />
      <ViewChoice to="/executions" views={VIEWS} filters={filters} />
      <FilterBar fields={fieldsFor(filters, more)} value={filters} onChange={change}>
        <Button variant="subtle" color="gray" aria-expanded={more} onClick={() => setMore(!more)}>
          {more ? "Fewer filters" : "More filters"}
        </Button>
      </FilterBar>
      <DataTable
        name="executions"
        label="Executions"
        columns={EXECUTION_COLUMNS}
        list={list}
        rowId={({ id }) => id}
        onOpen={({ id }) => void navigate({ to: "/executions/$id", params: { id } })}
        total={count?.value ?? null}
        toolbar={<span role="status">{count?.words}</span>}
        {...(mayWrite ? { selection, onSelect: select } : {})}
        bulkActions={<ExecutionBulkActions onChoose={ask} />}
        empty={<NoExecutions filtered={isFiltered(filters)} searchedUntil={searchedUntil} />}
      />
      {searchedUntil && list.rows.length > 0 && (
        <p>
          Searched back to <TimeText at={searchedUntil} absolute /> so far.{" "}
          {list.hasMore && (
            <Button size="compact-xs" variant="default" loading={list.isLoadingMore} onClick={list.loadMore}>
              Search further back
            </Button>
          )}
        </p>
      )}
      <Suspense>
        {asked && (
          <BulkDialog resource="executions" words={EXECUTION_ACTION_WORDS[asked.action]} {...asked} onClose={() => setAsked(null)} onDone={() => select(NOTHING)} />
        )}
      </Suspense>
    </>
  );
}

/** How many match. It is asked for beside the list, so that the rows need not wait for it. */
function useExecutionCount(filters: Filters): { value: number; words: string } | null {
  const { data } = useQuery({
    queryKey: ["execution-count", filters],
    queryFn: async () => {
      const query = { ...conditionsOf(filters, new Date()), limit: 1, count: "estimate" };
      return (await answer(api.GET("/v1/executions", { params: { query: query as never } }))).count ?? null;
    },
    staleTime: 30_000,
    refetchInterval: 30_000, // not at every event: counting millions takes its time
  });
  if (!data) return null;
  const about = data.kind === "exact" ? "" : data.kind === "estimate" ? "≈ " : "at least ";
  return { value: data.value, words: `${about}${data.value.toLocaleString("en")} ${data.value === 1 ? "execution" : "executions"}` };
}

function NoExecutions({ filtered, searchedUntil }: { filtered: boolean; searchedUntil: string | null }) {
  if (filtered && searchedUntil) {
    return <EmptyState title="None found so far" text={<>Everything due since <TimeText at={searchedUntil} absolute /> was looked at. Narrow the time with Due, or add a filter.</>} />;
  }
  if (filtered) return <EmptyState title="No execution matches" text="Take a filter away, or look further back." />;
  return <EmptyState title="No executions yet" text="Each run of a job shows here. Run one now:" command="tickwork job run JOB" />;
}
