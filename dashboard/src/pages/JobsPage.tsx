import { Button } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { useMay } from "../api/session";
import type { BulkTarget } from "../bulk/bulkRun";
import { JOB_ACTION_WORDS, type JobAction } from "../jobs/jobBulkWords";
import { JobBulkActions } from "../jobs/JobBulkActions";
import { type Job, JOB_COLUMNS } from "../jobs/jobColumns";
import { conditionsOf, fieldsFor, filterWords, isFiltered, SHORTCUTS } from "../jobs/jobFilters";
import { jobListQuery } from "../jobs/jobListQuery";
import { useJobCount } from "../jobs/useJobCount";
import { DataTable } from "../list/DataTable";
import { FilterBar, type Filters } from "../list/FilterBar";
import { NOTHING, useSelection } from "../list/selection";
import { useFilters } from "../list/useFilters";
import { usePagedList } from "../list/usePagedList";
import { ViewChoice } from "../list/ViewChoice";
import { EmptyState } from "../parts/EmptyState";
import { PageHeader } from "../parts/PageHeader";

// Beside the table, not in it: the table changes while the dialog works.
const BulkDialog = lazy(() => import("../bulk/BulkDialog"));

const route = getRouteApi("/inside/jobs/");

export default function JobsPage() {
  const filters: Filters = route.useSearch();
  const [, change] = useFilters();
  const navigate = useNavigate();
  const mayWrite = useMay("write");
  const [selection, select] = useSelection(JSON.stringify(filters));
  const list = usePagedList<Job>({ ...jobListQuery(filters), rowId: ({ id }) => id });
  const count = useJobCount(filters, !list.isLoading);
  const newJob = mayWrite && (
    <Button component={Link} to="/jobs/new" leftSection={<IconPlus size={14} />}>
      New job
    </Button>
  );
  const [asked, setAsked] = useState<{ action: JobAction; target: BulkTarget; meant: string } | null>(null);
  const ask = (action: JobAction) => {
    const matching = filterWords(filters);
    setAsked({
      action,
      target: selection.all ? { filter: conditionsOf(filters, new Date()) } : { ids: [...selection.ids] },
      meant: selection.all ? `all jobs${matching ? ` with ${matching}` : ""}` : `${selection.ids.size} selected`,
    });
  };
  return (
    <>
      <PageHeader title="Jobs" actions={newJob} />
      <ViewChoice to="/jobs" views={SHORTCUTS} filters={filters} />
      <FilterBar fields={fieldsFor(filters)} value={filters} onChange={change} />
      <DataTable
        name="jobs"
        label="Jobs"
        columns={JOB_COLUMNS}
        list={list}
        rowId={({ id }) => id}
        onOpen={({ id }) => void navigate({ to: "/jobs/$id", params: { id } })}
        sort={filters["sort"]}
        onSort={(sort) => change({ sort })}
        total={count?.value ?? null}
        toolbar={<span role="status">{count?.words}</span>}
        {...(mayWrite ? { selection, onSelect: select } : {})}
        bulkActions={<JobBulkActions onChoose={ask} />}
        empty={<NoJobs filtered={isFiltered(filters)} action={newJob} />}
      />
      <Suspense>{asked && <BulkDialog resource="jobs" words={JOB_ACTION_WORDS[asked.action]} {...asked} onClose={() => setAsked(null)} onDone={() => select(NOTHING)} />}</Suspense>
    </>
  );
}

function NoJobs({ filtered, action }: { filtered: boolean; action: React.ReactNode }) {
  if (filtered) return <EmptyState title="No job matches" text="Take a filter away, or look for another word." />;
  return (
    <EmptyState
      title="No jobs yet"
      text="A job says what to run and when. Make one here, or in the terminal:"
      command='tickwork job create --name hello --schedule "every 5m" --http http://127.0.0.1:8080/livez'
      action={action}
    />
  );
}
