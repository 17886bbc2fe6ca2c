import { Button } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { answer, api, type Schemas } from "../api/client";
import { confirm } from "../parts/confirm";
import { useAction } from "../parts/useAction";
import { ruleNews, scopeWords } from "./ruleDraft";

/** Nobody is told because of it any more. */
export function DeleteRule({ rule }: { rule: Schemas["NotificationRuleView"] }) {
  const navigate = useNavigate();
  const { name } = rule;
  const deleting = useAction({
    act: () => answer(api.DELETE("/v1/notification-rules/{name}", { params: { path: { name } } })),
    done: () => `The rule ${name} is deleted`,
    changes: [],
  });
  const ask = async () => {
    const yes = await confirm({
      title: `Delete the rule ${name}?`,
      effect: `It tells ${rule.to.join(", ")} of ${ruleNews(rule)}, for ${scopeWords(rule)}. That ends; what is gathered already is still told.`,
      action: "Delete the rule",
      danger: true,
    });
    if (yes) deleting.mutate(undefined, { onSuccess: () => void navigate({ to: "/notification-rules" }) });
  };
  return (
    <Button color="red" variant="light" loading={deleting.isPending} onClick={() => void ask()}>
      Delete
    </Button>
  );
}
