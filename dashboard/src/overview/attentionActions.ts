import { answer, api } from "../api/client";
import { queryClient } from "../api/queryClient";
import { confirm } from "../parts/confirm";
import { toast, toastProblem } from "../parts/toast";

/** Does it, says so, and reads again what it changed; or says why it could not. */
async function act(words: string, call: Promise<unknown>, changed: readonly string[], undo?: () => Promise<unknown>): Promise<void> {
  try {
    await call;
    toast(words, undo);
  } catch (error) {
    toastProblem(error);
  }
  await queryClient.invalidateQueries({ predicate: ({ queryKey }) => changed.includes(String(queryKey[0])) });
}

export async function retryJob(id: string, name: string): Promise<void> {
  await act(`${name}: its last failure runs again`, answer(api.POST("/v1/jobs/{id}/retry", { params: { path: { id } } })), ["overview", "errors", "timeline"]);
}

export async function redriveCause({ fingerprint, type, task, deadLetters }: { fingerprint: string; type: string; task: string; deadLetters: number }): Promise<void> {
  const count = deadLetters.toLocaleString("en");
  const yes = await confirm({
    title: `Redrive ${type} in ${task}?`,
    effect: `${count} dead ${deadLetters === 1 ? "letter runs" : "letters run"} again, 10 a second. Is the cause removed? Otherwise they fail again.`,
    action: `Redrive ${count}`,
  });
  if (!yes) return;
  const call = answer(api.POST("/v1/errors/{fingerprint}/redrive", { params: { path: { fingerprint } }, body: { rate: "10/s" } as never }));
  await act(`Dead letters of ${type} run again`, call, ["overview", "errors", "dead-letters", "timeline"]);
}

export async function resetBreaker(destination: string, waiting: number): Promise<void> {
  const yes = await confirm({
    title: `Call ${destination} again?`,
    effect: `The breaker is closed and ${waiting.toLocaleString("en")} waiting ${waiting === 1 ? "execution starts" : "executions start"}, slowly at first. It opens again if the calls fail.`,
    action: "Reset the breaker",
  });
  if (yes) await act(`${destination} is called again`, answer(api.POST("/v1/breakers/reset", { body: { destination } })), ["breakers", "overview"]);
}

export async function resumeQueue(name: string): Promise<void> {
  const path = { params: { path: { name } } };
  const undo = () => answer(api.POST("/v1/queues/{name}/pause", path));
  await act(`Queue ${name} goes on`, answer(api.POST("/v1/queues/{name}/resume", path)), ["queues", "overview"], undo);
}
