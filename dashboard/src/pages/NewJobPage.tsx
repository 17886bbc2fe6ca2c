import { Button } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { answer, api, type Schemas } from "../api/client";
import { useMay } from "../api/session";
import { fieldErrorsOf } from "../jobForm/fieldErrors";
import { JobForm } from "../jobForm/JobForm";
import classes from "../jobForm/JobForm.module.css";
import { draftOf, type JobDraft, NEW_DRAFT, requestOf } from "../jobForm/jobDraft";
import { forgetDraft, keepDraft, keptDraft } from "../jobForm/keptDraft";
import { Snippets } from "../jobForm/Snippets";
import { TryOut } from "../jobForm/TryOut";
import { Answer } from "../parts/Answer";
import { Card } from "../parts/Card";
import { EmptyState } from "../parts/EmptyState";
import { PageHeader } from "../parts/PageHeader";
import { Problem } from "../parts/Problem";
import { randomId } from "../parts/randomId";
import { toast } from "../parts/toast";
import { MY_ZONE } from "../time/zone";

const route = getRouteApi("/inside/jobs/new");

/** A new job, an empty one or a copy of another. */
export default function NewJobPage() {
  const { task, copy } = route.useSearch();
  const copied = useQuery({
    queryKey: ["jobs", "one", copy],
    queryFn: () => answer(api.GET("/v1/jobs/{id}", { params: { path: { id: copy ?? "" } } })),
    enabled: Boolean(copy),
  });
  const mayWrite = useMay("write");
  if (!mayWrite) return <EmptyState title="This key may not create jobs" text="Sign in with a key that has the scope write." />;
  if (copy) return <Answer query={copied}>{(job) => <NewJob first={copyOf(job)} />}</Answer>;
  return <NewJob first={keptDraft() ?? { ...NEW_DRAFT, timezone: MY_ZONE, ...(task ? { task } : {}) }} />;
}

function copyOf(job: Schemas["JobView"]): JobDraft {
  const name = job.name ?? job.key;
  return { ...draftOf(job), key: "", name: name ? `${name} (copy)` : "" };
}

function NewJob({ first }: { first: JobDraft }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [draft, setDraft] = useState(first);
  const [tryError, setTryError] = useState<unknown>(null);
  const [key, setKey] = useState(randomId); // the same for each try, so that a lost answer makes no second job
  const change = (changed: Partial<JobDraft>) => {
    const next = { ...draft, ...changed };
    setDraft(next);
    setKey(randomId());
    keepDraft(next);
    if (create.error) create.reset();
    setTryError(null);
  };
  const create = useMutation({
    mutationFn: async () => {
      const fields = requestOf(draft);
      return answer(api.POST("/v1/jobs", { body: fields as never, headers: { "idempotency-key": key } }));
    },
    onSuccess: (job) => {
      forgetDraft();
      toast(`${job.name ?? job.id} is created`);
      void queries.invalidateQueries({ queryKey: ["jobs"] });
      void navigate({ to: "/jobs/$id", params: { id: job.id } });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  const errors = fieldErrorsOf(create.error ?? tryError);
  return (
    <>
      <PageHeader title="New job" sentence="What to run, when, and under which policies." />
      <form onSubmit={submit} className={classes.page} noValidate>
        <div>
          <JobForm draft={draft} onChange={change} errors={errors} tryOut={<TryOut draft={draft} onError={setTryError} />} />
          {Boolean(create.error) && (
            <div className={classes.actions}>
              <Problem error={create.error} />
            </div>
          )}
          <div className={classes.actions}>
            <Button type="submit" loading={create.isPending}>
              Create the job
            </Button>
            <Button
              variant="subtle"
              color="gray"
              onClick={() => {
                forgetDraft();
                setDraft({ ...NEW_DRAFT, timezone: MY_ZONE });
              }}
            >
              Begin again
            </Button>
          </div>
        </div>
        <div className={classes.aside}>
          <Card title="The same job as">
            <Snippets draft={draft} />
          </Card>
        </div>
      </form>
    </>
  );
}
