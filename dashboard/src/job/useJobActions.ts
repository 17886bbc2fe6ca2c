import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { answer, api, type Schemas } from "../api/client";
import { confirm } from "../parts/confirm";
import { jobTitle } from "../parts/jobTitle";
import { randomId } from "../parts/randomId";
import { toast, toastProblem } from "../parts/toast";

export type Job = Schemas["JobView"];

/** What can be done with a job by one click: each says what it did, and takes it back where that is possible. */
export function useJobActions(job: Job) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const path = { params: { path: { id: job.id } } };
  const name = jobTitle(job);
  const refresh = () => queries.invalidateQueries({ predicate: ({ queryKey }) => ["jobs", "executions", "upcoming", "workflows"].includes(String(queryKey[0])) });

  const act = useMutation({
    mutationFn: (call: () => Promise<unknown>) => call(),
    onError: toastProblem,
    onSettled: () => void refresh(),
  });
  const pauseCall = () => answer(api.POST("/v1/jobs/{id}/pause", path));
  const resumeCall = () => answer(api.POST("/v1/jobs/{id}/resume", path));
  const undone = (call: () => Promise<unknown>) => async () => {
    await call();
    await refresh();
  };

  return {
    isBusy: act.isPending,
    refresh,
    pause: () =>
      act.mutate(async () => {
        await pauseCall();
        toast(`${name} is paused`, undone(resumeCall));
      }),
    resume: () =>
      act.mutate(async () => {
        await resumeCall();
        toast(`${name} goes on`, undone(pauseCall));
      }),
    run: () =>
      act.mutate(async () => {
        const run = api.POST("/v1/jobs/{id}/run", { ...path, body: { overlap: "allow" }, headers: { "idempotency-key": randomId() } } as never);
        const execution = (await answer(run as never)) as Schemas["ExecutionView"];
        toast(`${name} runs now`);
        void navigate({ to: "/executions/$id", params: { id: execution.id } });
      }),
    retry: () =>
      act.mutate(async () => {
        await answer(api.POST("/v1/jobs/{id}/retry", path));
        toast(`The last failure of ${name} runs again`);
      }),
    cancel: async () => {
      const yes = await confirm({
        title: `Cancel ${name}?`,
        effect: `The job has no further executions.${job.running > 0 ? ` ${job.running} that run now are cancelled.` : ""} Its history stays. This cannot be undone, but the job can be copied.`,
        action: "Cancel the job",
        danger: true,
      });
      if (!yes) return;
      act.mutate(async () => {
        await answer(api.DELETE("/v1/jobs/{id}", path));
        toast(`${name} is cancelled`);
      });
    },
  };
}
