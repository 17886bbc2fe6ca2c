import { Button } from "@mantine/core";
import { EXECUTION_ACTION_WORDS, type ExecutionAction } from "./executionBulkWords";

const ACTIONS: ExecutionAction[] = ["retry", "cancel"];

/** What can be done with the selected executions. */
export function ExecutionBulkActions({ onChoose }: { onChoose: (action: ExecutionAction) => void }) {
  return (
    <>
      {ACTIONS.map((action) => (
        <Button key={action} size="compact-xs" variant="default" onClick={() => onChoose(action)}>
          {EXECUTION_ACTION_WORDS[action].verb}
        </Button>
      ))}
    </>
  );
}
