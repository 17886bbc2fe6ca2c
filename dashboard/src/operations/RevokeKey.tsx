import { Button } from "@mantine/core";
import { answer, api, type Schemas } from "../api/client";
import { confirm } from "../parts/confirm";
import { useAction } from "../parts/useAction";

/** Ends a key for good, with every session that it signed in. */
export function RevokeKey({ apiKey }: { apiKey: Schemas["KeyView"] }) {
  const revoking = useAction({
    act: (id: string) => answer(api.DELETE("/v1/keys/{id}", { params: { path: { id } } })),
    done: () => `The key ${apiKey.name} is revoked`,
    changes: ["keys"],
  });
  const ask = async () => {
    const yes = await confirm({
      title: `Revoke the key ${apiKey.name}?`,
      effect: "Programs and browsers that use it are refused from now on, and workers with it lose their connection. This cannot be undone.",
      action: "Revoke the key",
      danger: true,
    });
    if (yes) revoking.mutate(apiKey.id);
  };
  return (
    <Button size="compact-xs" variant="default" loading={revoking.isPending} onClick={() => void ask()}>
      Revoke
    </Button>
  );
}
