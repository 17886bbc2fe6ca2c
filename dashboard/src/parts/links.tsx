import { Link } from "@tanstack/react-router";

/** A job by its name, its key or at last its id. */
export function JobLink({ job }: { job: { id: string; name?: string | null; key?: string | null } }) {
  return (
    <Link to="/jobs/$id" params={{ id: job.id }}>
      {job.name ?? job.key ?? <code>{job.id}</code>}
    </Link>
  );
}

export function ExecutionLink({ id, children }: { id: string; children?: React.ReactNode }) {
  return (
    <Link to="/executions/$id" params={{ id }}>
      {children ?? <code>{id}</code>}
    </Link>
  );
}
