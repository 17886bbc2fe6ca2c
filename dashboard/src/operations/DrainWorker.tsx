import { Button } from "@mantine/core";
import { answer, api, type Schemas } from "../api/client";
import { confirm } from "../parts/confirm";
import { useAction } from "../parts/useAction";

/** Lets a worker finish what it has and take nothing more. */
export function DrainWorker({ worker }: { worker: Schemas["WorkerView"] }) {
  const draining = useAction({
    act: (id: string) => answer(api.POST("/v1/workers/{id}/drain", { params: { path: { id } } })),
    done: () => `${worker.name} takes no more work`,
    changes: ["workers"],
  });
  const ask = async () => {
    const holds = worker.holding === 1 ? "the 1 execution" : `the ${worker.holding} executions`;
    const yes = await confirm({
      title: `Drain ${worker.name}?`,
      effect: `It finishes ${holds} it has, takes no more, and stops. Start the worker again to undo this.`,
      action: "Drain the worker",
    });
    if (yes) draining.mutate(worker.id);
  };
  return (
    <Button size="compact-xs" variant="default" loading={draining.isPending} onClick={() => void ask()}>
      Drain
    </Button>
  );
}
