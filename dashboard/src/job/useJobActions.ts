import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { answer, api, type Schemas } from "../api/client";
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
    run: (worker?: string) =>
      act.mutate(async () => {
        const body = { overlap: "allow", ...(worker ? { worker } : {}) };
        const run = api.POST("/v1/jobs/{id}/run", { ...path, body, headers: { "idempotency-key": randomId() } } as never);
        const execution = (await answer(run as never)) as Schemas["ExecutionView"];
        toast(`${name} runs now`);
        void navigate({ to: "/executions/$id", params: { id: execution.id } });
      }),
    retry: () =>
      act.mutate(async () => {
        await answer(api.POST("/v1/jobs/{id}/retry", path));
        toast(`The last failure of ${name} runs again`);
      }),
    cancel: (stopRunning: boolean) =>
      act.mutate(async () => {
        await answer(api.DELETE("/v1/jobs/{id}", { params: { ...path.params, query: stopRunning ? { running: "cancel" } : {} } }));
        toast(stopRunning ? `${name} is cancelled, and what ran of it is stopped` : `${name} is cancelled`);
      }),
  };
}
