import { Button } from "@mantine/core";
import { IconDotsVertical } from "@tabler/icons-react";
import { DropDown, DropDownItem } from "../parts/DropDown";
import { JOB_ACTION_WORDS, type JobAction } from "./jobBulkWords";

const FIRST: JobAction[] = ["run", "pause", "resume", "cancel"];
const MORE: JobAction[] = ["tag", "untag", "delete"];

/** What can be done with the selected jobs. */
export function JobBulkActions({ onChoose }: { onChoose: (action: JobAction) => void }) {
  return (
    <>
      {FIRST.map((action) => (
        <Button key={action} size="compact-xs" variant="default" onClick={() => onChoose(action)}>
          {JOB_ACTION_WORDS[action].verb}
        </Button>
      ))}
      <DropDown label="More actions" face={<IconDotsVertical size={16} />}>
        {(close) =>
          MORE.map((action) => (
            <DropDownItem
              key={action}
              onClick={() => {
                close();
                onChoose(action);
              }}
            >
              {JOB_ACTION_WORDS[action].verb}
            </DropDownItem>
          ))
        }
      </DropDown>
    </>
  );
}
