import { Box, Button } from "@mantine/core";
import { IconRefresh } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { answer, api } from "../api/client";
import { useMay } from "../api/session";
import { Card } from "../parts/Card";
import { CodeBlock } from "../parts/CodeBlock";
import { Facts } from "../parts/Facts";
import { ExecutionLink, JobLink } from "../parts/links";
import { ExecutionBadge } from "../parts/StatusBadge";
import { toast, toastProblem } from "../parts/toast";
import { Duration } from "../time/Duration";
import { TimeText } from "../time/TimeText";
import { behindFailures, childrenOf, type GraphJob } from "./graphModel";

interface NodePanelProps {
  job: GraphJob;
  jobs: readonly GraphJob[];
  onChoose: (id: string) => void;
}

const AGAIN = new Set(["failed", "cancelled"]);
const SHOWN = 8;

/** What is known about one job of the graph, and a way to run the workflow on from it. */
export function NodePanel({ job, jobs, onChoose }: NodePanelProps) {
  const byId = new Map(jobs.map((each) => [each.job_id, each]));
  const parents = job.depends_on.flatMap((id) => byId.get(id) ?? []);
  const children = (childrenOf(jobs).get(job.job_id) ?? []).flatMap((id) => byId.get(id) ?? []);
  return (
    <Card title={nameOf(job)}>
      <Facts
        facts={[
          ["Status", job.status ? <ExecutionBadge key="status" status={job.status} waitingFor={job.waiting_for} /> : "Not run yet"],
          ...(job.reason ? [["Reason", job.reason] as const] : []),
          ["Job", <JobLink key="job" job={{ ...job, id: job.job_id }} />],
          ["Execution", job.execution_id ? <ExecutionLink key="execution" id={job.execution_id} /> : "–"],
          ["Started", <TimeText key="started" at={job.started_at} />],
          ["Ran for", <Duration key="duration" from={job.started_at} until={job.finished_at} />],
          ["Task", job.task],
        ]}
      />
      <Failure job={job} />
      <Retry job={job} jobs={jobs} />
      <Neighbours words="Runs after" jobs={parents} onChoose={onChoose} />
      <Neighbours words="Before" jobs={children} onChoose={onChoose} />
    </Card>
  );
}

function nameOf(job: GraphJob): string {
  return job.name ?? job.key ?? job.job_id;
}

function Failure({ job }: { job: GraphJob }) {
  const { data } = useQuery({
    queryKey: ["executions", "one", job.execution_id],
    queryFn: () => answer(api.GET("/v1/executions/{id}", { params: { path: { id: job.execution_id ?? "" } } })),
    enabled: job.status === "failed" && job.execution_id !== null,
  });
  if (!data?.error || job.status !== "failed") return null;
  return (
    <Box mt="sm">
      <CodeBlock code={`${data.error.type}: ${data.error.message}`} what="the error" wrap maxHeight={140} />
    </Box>
  );
}

function Retry({ job, jobs }: { job: GraphJob; jobs: readonly GraphJob[] }) {
  const mayWrite = useMay("write");
  const queries = useQueryClient();
  const retry = useMutation({
    mutationFn: () => answer(api.POST("/v1/executions/{id}/retry", { params: { path: { id: job.execution_id ?? "" } } })),
    onSuccess: () => toast(`${nameOf(job)} runs again; what waits for it goes on after it`),
    onError: toastProblem,
    onSettled: () => void queries.invalidateQueries({ queryKey: ["workflows"] }),
  });
  if (!mayWrite || !job.execution_id || !AGAIN.has(job.status ?? "")) return null;
  const waiting = behindFailures(jobs.map((each) => (each.job_id === job.job_id ? { ...each, status: "failed" as const } : { ...each, status: null }))).size;
  return (
    <Button mt="sm" mb="sm" leftSection={<IconRefresh size={14} />} loading={retry.isPending} onClick={() => retry.mutate()}>
      Retry from here{waiting > 0 ? ` (${waiting.toLocaleString("en")} after it)` : ""}
    </Button>
  );
}

function Neighbours({ words, jobs, onChoose }: { words: string; jobs: readonly GraphJob[]; onChoose: (id: string) => void }) {
  if (jobs.length === 0) return null;
  return (
    <p style={{ margin: "12px 0 0" }}>
      {words}{" "}
      {jobs.slice(0, SHOWN).map((job) => (
        <Button key={job.job_id} size="compact-xs" variant="default" mr={4} mb={4} onClick={() => onChoose(job.job_id)}>
          {nameOf(job)}
        </Button>
      ))}
      {jobs.length > SHOWN && `and ${(jobs.length - SHOWN).toLocaleString("en")} more`}
    </p>
  );
}
