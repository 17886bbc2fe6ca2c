import { Button } from "@mantine/core";
import { answer, api } from "../api/client";
import { confirm } from "../parts/confirm";
import { useAction } from "../parts/useAction";

/** Closes a breaker by hand: calls to its destination go out at once. */
export function ResetBreaker({ destination, waiting }: { destination: string; waiting: number }) {
  const resetting = useAction({
    act: () => answer(api.POST("/v1/breakers/reset", { body: { destination } })),
    done: () => `${destination} is called again`,
    changes: ["breakers", "executions", "overview"],
  });
  const ask = async () => {
    const yes = await confirm({
      title: `Call ${destination} again?`,
      effect: `${waiting === 1 ? "1 execution that waits is" : `${waiting} executions that wait are`} sent, slowly at first. If the destination still fails, the breaker opens again.`,
      action: "Reset the breaker",
    });
    if (yes) resetting.mutate(undefined);
  };
  return (
    <Button size="compact-xs" variant="default" loading={resetting.isPending} onClick={() => void ask()}>
      Reset
    </Button>
  );
}
