import { Button, Skeleton } from "@mantine/core";
import { answer, api, type Schemas } from "../api/client";
import { usePagedList } from "../list/usePagedList";
import { Card } from "../parts/Card";
import { Problem } from "../parts/Problem";
import { StateIcon } from "../parts/StateIcon";
import { TimeText } from "../time/TimeText";
import { changeLook, valueWords } from "./changeWords";
import classes from "./JobChanges.module.css";
import type { Job } from "./useJobActions";

type JobChange = Schemas["JobChange"];

/** Who changed the job, when, and what: each field with its old and its new value. */
export function JobChanges({ job }: { job: Job }) {
  const list = usePagedList<JobChange>({
    queryKey: ["jobs", "changes", job.id],
    fetchPage: (cursor) => answer(api.GET("/v1/jobs/{id}/changes", { params: { path: { id: job.id }, query: { limit: 50, ...(cursor ? { cursor } : {}) } } })),
    rowId: ({ at, kind }) => `${at} ${kind}`,
  });
  return (
    <Card title="Who changed what">
      {Boolean(list.error) && <Problem error={list.error} onRetry={list.retry} />}
      {list.isLoading && <Skeleton height={120} />}
      <ol className={classes.changes}>
        {list.rows.map((change) => (
          <li key={`${change.at} ${change.kind}`}>
            <Change change={change} />
          </li>
        ))}
      </ol>
      {list.hasMore && (
        <Button variant="default" mt={12} loading={list.isLoadingMore} onClick={list.loadMore}>
          Earlier changes
        </Button>
      )}
      <p className={classes.kept}>
        Changes are kept as long as the history. The same in a terminal: <code>tickwork job changes {job.id}</code>
      </p>
    </Card>
  );
}

function Change({ change }: { change: JobChange }) {
  const look = changeLook(change.kind);
  const { by, fields, more_fields: more } = change;
  return (
    <>
      <StateIcon look={look} size={16} />
      <div>
        <p className={classes.head}>
          <strong>{look.word}</strong>{" "}
          {by ? (
            <>
              by <strong>{by.name}</strong> <code title="The API key">{by.key}</code>
              {by.session && <span className={classes.quiet}> in a browser</span>}
            </>
          ) : (
            <span className={classes.quiet}>by whom is not recorded</span>
          )}
          <span className={classes.when}>
            <TimeText at={change.at} /> {change.version !== null && <span className={classes.quiet}>· version {change.version}</span>}
          </span>
        </p>
        {change.kind === "changed" && fields.length === 0 && <p className={classes.quiet}>It was saved again; no field differs.</p>}
        {fields.length > 0 && <Fields fields={fields} />}
        {more > 0 && <p className={classes.quiet}>and {more} more fields</p>}
      </div>
    </>
  );
}

function Fields({ fields }: { fields: JobChange["fields"] }) {
  return (
    <table className={classes.fields}>
      <caption className="visually-hidden">What was changed</caption>
      <thead className="visually-hidden">
        <tr>
          <th scope="col">Field</th>
          <th scope="col">Before and after</th>
        </tr>
      </thead>
      <tbody>
        {fields.map(({ field, old, new: now }) => (
          <tr key={field}>
            <th scope="row">{field}</th>
            <td>
              <del>{valueWords(old)}</del> <span aria-hidden>→</span> <ins>{valueWords(now)}</ins>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
