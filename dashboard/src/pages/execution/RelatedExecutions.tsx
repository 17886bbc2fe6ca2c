import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { answer, api, type Schemas } from "../../api/client";
import { Card } from "../../parts/Card";
import { ExecutionBadge } from "../../parts/StatusBadge";
import { ExecutionLink, JobLink } from "../../parts/links";
import classes from "./RelatedExecutions.module.css";

type GraphJob = Schemas["GraphJob"];

interface RelatedExecutionsProps {
  execution: Schemas["ExecutionView"];
}

/** The executions before and after this one in its graph; the API knows those of the latest round. */
export function RelatedExecutions({ execution }: RelatedExecutionsProps) {
  const graph = useQuery({
    queryKey: ["workflows", "of", execution.job_id],
    queryFn: () => answer(api.GET("/v1/jobs/{id}/graph", { params: { path: { id: execution.job_id } } })),
  });
  const jobs = graph.data?.items ?? [];
  const own = jobs.find((each) => each.job_id === execution.job_id);
  if (!own || jobs.length < 2) return null;
  const isLatest = own.execution_id === execution.id;
  const before = jobs.filter((each) => own.depends_on.includes(each.job_id));
  const after = jobs.filter((each) => each.depends_on.includes(own.job_id));
  return (
    <Card
      title="In its workflow"
      actions={
        <Link to="/workflows/$id" params={{ id: execution.job_id }}>
          Show the graph
        </Link>
      }
    >
      <div className={classes.columns}>
        <Jobs title="Before it" jobs={before} isLatest={isLatest} none="It depends on nothing." />
        <Jobs title="After it" jobs={after} isLatest={isLatest} none="Nothing depends on it." />
      </div>
      {!isLatest && <p className={classes.note}>This is not the latest round, so only the jobs are shown.</p>}
    </Card>
  );
}

function Jobs({ title, jobs, isLatest, none }: { title: string; jobs: readonly GraphJob[]; isLatest: boolean; none: string }) {
  return (
    <div>
      <h3 className={classes.title}>{title}</h3>
      {jobs.length === 0 && <p className={classes.note}>{none}</p>}
      <ul className={classes.list}>
        {jobs.map((job) => (
          <li key={job.job_id}>
            <JobLink job={{ id: job.job_id, name: job.name, key: job.key }} />
            {isLatest && job.execution_id && job.status && (
              <>
                <ExecutionBadge status={job.status} waitingFor={job.waiting_for} full={false} />
                <ExecutionLink id={job.execution_id} />
              </>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}
