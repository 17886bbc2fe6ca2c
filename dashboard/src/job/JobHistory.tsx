import { Button, Progress } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { answer, api, type Schemas } from "../api/client";
import { useMay } from "../api/session";
import { DataTable } from "../list/DataTable";
import { FilterBar, type FilterField } from "../list/FilterBar";
import { useFilters } from "../list/useFilters";
import { usePagedList } from "../list/usePagedList";
import { Card } from "../parts/Card";
import { EmptyState } from "../parts/EmptyState";
import { StateBadge } from "../parts/StatusBadge";
import { BACKFILL_LOOKS, lookOf } from "../parts/states";
import { toast, toastProblem } from "../parts/toast";
import { zoneOf } from "../time/ScheduleWords";
import { TimeText } from "../time/TimeText";
import { type Execution, HISTORY_COLUMNS } from "./historyColumns";
import classes from "./Job.module.css";
import type { Job } from "./useJobActions";

const FIELDS: FilterField[] = [
  { name: "status", kind: "choice", label: "Status", options: ["pending", "running", "completed", "failed", "cancelled", "skipped"] },
];

/** All executions of a job, what it missed, and its backfills. */
export function JobHistory({ job }: { job: Job }) {
  const [filters, change] = useFilters();
  const navigate = useNavigate();
  const status = filters["status"];
  const list = usePagedList<Execution>({
    queryKey: ["executions", "of-job", job.id, status],
    fetchPage: (cursor) => {
      const query = { limit: 100, ...(status ? { status } : {}), ...(cursor ? { cursor } : {}) };
      return answer(api.GET("/v1/jobs/{id}/executions", { params: { path: { id: job.id }, query: query as never } }));
    },
    rowId: ({ id }) => id,
    holdsNew: true,
  });
  return (
    <>
      <Backfills job={job} />
      <Missed job={job} />
      <FilterBar fields={FIELDS} value={filters} onChange={change} />
      <DataTable
        name="executions-of-job"
        label="Executions of this job"
        noun="execution"
        columns={HISTORY_COLUMNS}
        list={list}
        rowId={({ id }) => id}
        onOpen={({ id }) => void navigate({ to: "/executions/$id", params: { id } })}
        empty={<EmptyState title={status ? `No execution is ${status}` : "It has not run yet"} command={`tickwork job run ${job.id}`} />}
      />
    </>
  );
}

/** Due times that were passed over, with the reason. */
function Missed({ job }: { job: Job }) {
  const { data } = useQuery({
    queryKey: ["jobs", "missed", job.id],
    queryFn: async () => (await answer(api.GET("/v1/jobs/{id}/missed", { params: { path: { id: job.id } } }))).items,
  });
  if (!data || data.length === 0) return null;
  const zone = zoneOf(job.schedule);
  return (
    <Card title="Missed">
      <ul className={classes.list}>
        {data.map((range) => (
          <li key={range.from}>
            <span>
              {range.count.toLocaleString("en")} due {range.count === 1 ? "time" : "times"}, <TimeText at={range.from} jobZone={zone} absolute /> to{" "}
              <TimeText at={range.to} jobZone={zone} absolute />
            </span>
            <span className={classes.secondary}>{range.reason}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Backfills({ job }: { job: Job }) {
  const { data } = useQuery({
    queryKey: ["jobs", "backfills", job.id],
    queryFn: async () => (await answer(api.GET("/v1/jobs/{id}/backfills", { params: { path: { id: job.id }, query: { limit: 5 } } }))).items,
    // Its count may change after the last event of its executions.
    refetchInterval: ({ state }) => (state.data?.some((each) => each.status === "running") ? 2_000 : false),
  });
  if (!data || data.length === 0) return null;
  return (
    <Card title="Backfills">
      <ul className={classes.list}>
        {data.map((backfill) => (
          <Backfill key={backfill.id} backfill={backfill} />
        ))}
      </ul>
    </Card>
  );
}

function Backfill({ backfill }: { backfill: Schemas["BackfillView"] }) {
  const mayWrite = useMay("write");
  const queries = useQueryClient();
  const stop = useMutation({
    mutationFn: () => answer(api.POST("/v1/backfills/{id}/cancel", { params: { path: { id: backfill.id } } })),
    onSuccess: () => toast("The backfill stops; what runs goes on"),
    onError: toastProblem,
    onSettled: () => void queries.invalidateQueries({ queryKey: ["jobs", "backfills"] }),
  });
  const ended = backfill.completed + backfill.failed;
  return (
    <li>
      <StateBadge look={lookOf(BACKFILL_LOOKS, backfill.status)} detail={`${ended} of ${backfill.total}${backfill.failed > 0 ? `, ${backfill.failed} failed` : ""}`} />
      <span>
        <TimeText at={backfill.from} absolute /> to <TimeText at={backfill.to} absolute />
      </span>
      {mayWrite && backfill.status === "running" && (
        <Button size="compact-xs" variant="default" loading={stop.isPending} onClick={() => stop.mutate()}>
          Stop
        </Button>
      )}
      <Progress value={backfill.total > 0 ? (100 * ended) / backfill.total : 100} size={4} w="100%" aria-label={`${ended} of ${backfill.total}`} />
    </li>
  );
}
