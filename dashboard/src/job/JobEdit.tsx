import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useBlocker, useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { request } from "../api/client";
import { ProblemError } from "../api/problem";
import { fieldErrorsOf } from "../jobForm/fieldErrors";
import { JobForm } from "../jobForm/JobForm";
import formClasses from "../jobForm/JobForm.module.css";
import { DraftError, draftOf, type JobDraft } from "../jobForm/jobDraft";
import { patchOf } from "../jobForm/jobPatch";
import { useSchedulePreview } from "../jobForm/useSchedulePreview";
import { Card } from "../parts/Card";
import { CodeBlock } from "../parts/CodeBlock";
import { Problem } from "../parts/Problem";
import { toast } from "../parts/toast";
import { TimeText } from "../time/TimeText";
import classes from "./Job.module.css";
import type { Job } from "./useJobActions";
import { jobTitle } from "../parts/jobTitle";

const CONFLICTS = new Set([409, 412]);

/** Changes a job. What it was changed from is remembered: if somebody else changed it meanwhile, nothing is overwritten unasked. */
export function JobEdit({ job }: { job: Job }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [base, setBase] = useState(job);
  const [draft, setDraft] = useState<JobDraft>(() => draftOf(job));
  const [error, setError] = useState<unknown>(null);
  const patch = patchIn(draftOf(base), draft);
  const isChanged = patch instanceof DraftError || Object.keys(patch).length > 0;
  const leave = () => void navigate({ to: "/jobs/$id", params: { id: job.id }, ignoreBlocker: true });
  const save = useMutation({
    mutationFn: (version: number) => {
      if (patch instanceof DraftError) throw patch;
      return request<Job>("PATCH", `/v1/jobs/${encodeURIComponent(job.id)}`, patch, {
        "content-type": "application/merge-patch+json",
        "if-match": `"${version}"`,
      });
    },
    onSuccess: (saved) => {
      queries.setQueryData(["jobs", "one", job.id], saved);
      void queries.invalidateQueries({ queryKey: ["jobs"] });
      toast(`${jobTitle(saved)} is saved`);
      leave();
    },
    onError: (problem) => {
      setError(problem);
      if (isConflict(problem)) void queries.invalidateQueries({ queryKey: ["jobs", "one", job.id] });
    },
  });
  useBlocker({ shouldBlockFn: () => isChanged && !save.isSuccess && !window.confirm("Leave without saving what you changed?"), enableBeforeUnload: () => isChanged && !save.isSuccess });
  const change = (changed: Partial<JobDraft>) => {
    setDraft({ ...draft, ...changed });
    setError(null);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate(base.version);
  };
  const adopt = () => {
    setBase(job);
    setDraft(draftOf(job));
    setError(null);
  };
  const hasConflict = isConflict(error);
  return (
    <form onSubmit={submit} className={formClasses.page} noValidate>
      <div>
        <JobForm draft={draft} onChange={change} errors={fieldErrorsOf(error)} />
        {hasConflict || job.version !== base.version ? (
          <Conflict job={job} isSaving={save.isPending} onAdopt={adopt} onOverwrite={() => save.mutate(job.version)} />
        ) : (
          Boolean(error) && !(error instanceof DraftError) && (
            <div className={classes.actions}>
              <Problem error={error} />
            </div>
          )
        )}
        <div className={classes.actions}>
          <Button type="submit" loading={save.isPending} disabled={!isChanged}>
            Save the changes
          </Button>
          <Button variant="default" onClick={leave}>
            Leave it as it is
          </Button>
          <NextRunMoves job={base} draft={draft} />
        </div>
      </div>
      <div className={formClasses.aside}>
        <Card title="What changes">
          {patch instanceof DraftError ? `${patch.path} ${patch.message}` : isChanged ? <CodeBlock code={JSON.stringify(patch, null, 2)} what="the patch" wrap /> : "Nothing yet."}
        </Card>
      </div>
    </form>
  );
}

function patchIn(before: JobDraft, after: JobDraft): Record<string, unknown> | DraftError {
  try {
    return patchOf(before, after);
  } catch (error) {
    if (error instanceof DraftError) return error;
    throw error;
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof ProblemError && CONFLICTS.has(error.status);
}

interface ConflictProps {
  job: Job;
  isSaving: boolean;
  onAdopt: () => void;
  onOverwrite: () => void;
}

function Conflict({ job, isSaving, onAdopt, onOverwrite }: ConflictProps) {
  return (
    <div className={classes.conflict} role="alert">
      <strong>Somebody else changed this job meanwhile.</strong> It is at version {job.version} now, changed <TimeText at={job.updated_at} />. Nothing
      of yours is saved yet.
      <div className={classes.actions}>
        <Button variant="default" onClick={onAdopt}>
          Begin again from theirs
        </Button>
        <Button variant="default" loading={isSaving} onClick={onOverwrite}>
          Save only what I changed on top of theirs
        </Button>
      </div>
    </div>
  );
}

/** "Next run moves from … to …", if it does. */
function NextRunMoves({ job, draft }: { job: Job; draft: JobDraft }) {
  const preview = useSchedulePreview(draft);
  const next = preview.data?.times[0]?.at;
  if (!next || !job.next_run_at || job.status !== "active") return null;
  if (Math.abs(Date.parse(next) - Date.parse(job.next_run_at)) < 60_000) return null;
  return (
    <span className={classes.secondary}>
      Its next run moves from <TimeText at={job.next_run_at} absolute /> to <TimeText at={next} absolute />.
    </span>
  );
}
