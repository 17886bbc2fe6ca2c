import { Button } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { answer, api } from "../api/client";
import { confirm } from "../parts/confirm";
import { useAction } from "../parts/useAction";

/** Nothing is expected of it any more. */
export function DeletePing({ name }: { name: string }) {
  const navigate = useNavigate();
  const deleting = useAction({
    act: () => answer(api.DELETE("/v1/pings/{name}", { params: { path: { name } } })),
    done: () => `${name} is deleted`,
    changes: [],
  });
  const ask = async () => {
    const yes = await confirm({
      title: `Delete ${name}?`,
      effect: "Its history is deleted and its URL stops working. Nobody notices any more if it stays away. This cannot be undone.",
      action: "Delete the ping",
      danger: true,
    });
    if (yes) deleting.mutate(undefined, { onSuccess: () => void navigate({ to: "/pings" }) });
  };
  return (
    <Button color="red" variant="light" loading={deleting.isPending} onClick={() => void ask()}>
      Delete
    </Button>
  );
}
