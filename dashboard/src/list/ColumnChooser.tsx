import { Checkbox, Stack, UnstyledButton } from "@mantine/core";
import { IconColumns3 } from "@tabler/icons-react";
import { DropDown } from "../parts/DropDown";
import type { Column, useShownColumns } from "./columns";

interface ColumnChooserProps<Row> {
  columns: readonly Column<Row>[];
  shown: ReturnType<typeof useShownColumns>;
}

export function ColumnChooser<Row>({ columns, shown }: ColumnChooserProps<Row>) {
  return (
    <DropDown label="Choose columns" face={<IconColumns3 size={16} />}>
      {() => (
        <Stack gap={8} p={8}>
          {columns.map((column) => (
            <Checkbox
              key={column.id}
              label={column.header}
              checked={shown.visibility[column.id] ?? false}
              disabled={column.always ?? false}
              onChange={() => shown.toggle(column.id)}
            />
          ))}
          {shown.isChanged && (
            <UnstyledButton onClick={shown.reset} c="var(--link)" fz="sm">
              As at first
            </UnstyledButton>
          )}
        </Stack>
      )}
    </DropDown>
  );
}
