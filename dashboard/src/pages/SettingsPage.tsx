import { Button, SegmentedControl, Switch, useMantineColorScheme } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api, type Schemas } from "../api/client";
import { useMay } from "../api/session";
import type { Column } from "../list/columns";
import { SimpleTable } from "../list/SimpleTable";
import { rowsOf } from "../list/rowList";
import { NewKeyDialog } from "../operations/NewKeyDialog";
import { RevokeKey } from "../operations/RevokeKey";
import { Card } from "../parts/Card";
import { EmptyState } from "../parts/EmptyState";
import { Facts } from "../parts/Facts";
import { PageHeader } from "../parts/PageHeader";
import { useSingleKeys } from "../shell/useKeys";
import { TimeText } from "../time/TimeText";
import { setZoneMode, useZoneMode, type ZoneMode } from "../time/zone";

type Key = Schemas["KeyView"];

const COLUMNS: Column<Key>[] = [
  { id: "name", header: "Key", width: 180, grows: true, always: true, cell: ({ name }) => name },
  { id: "id", header: "Id", width: 70, cell: ({ id }) => <code>{id}</code> },
  { id: "prefix", header: "Begins with", width: 130, cell: ({ prefix }) => <code>{prefix}</code> },
  { id: "scopes", header: "Scopes", width: 120, cell: ({ scopes }) => scopes.join(", ") },
  { id: "created", header: "Made", width: 116, cell: ({ created_at }) => <TimeText at={created_at} /> },
  { id: "used", header: "Last used", width: 116, cell: ({ last_used_at }) => <TimeText at={last_used_at} missing="never" /> },
  { id: "expires", header: "Expires", width: 116, cell: ({ expires_at }) => <TimeText at={expires_at} missing="never" /> },
  { id: "actions", header: "", width: 110, always: true, cell: (key) => (key.revoked_at ? <span>revoked</span> : <RevokeKey apiKey={key} />) },
];

/** API keys, and how this browser shows things. */
export default function SettingsPage() {
  const may = useMay("admin");
  return (
    <>
      <PageHeader title="Keys and settings" />
      <Card title="This browser">
        <Appearance />
      </Card>
      {may && <Keys />}
    </>
  );
}

function Appearance() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const zone = useZoneMode();
  const [hasSingleKeys, setSingleKeys] = useSingleKeys();
  return (
    <Facts
      wide
      facts={[
        [
          "Light or dark",
          <SegmentedControl
            key="scheme"
            aria-label="Light or dark"
            value={colorScheme}
            onChange={(value) => setColorScheme(value as "auto" | "light" | "dark")}
            data={[{ value: "auto", label: "System" }, { value: "light", label: "Light" }, { value: "dark", label: "Dark" }]}
          />,
        ],
        [
          "Times are shown in",
          <SegmentedControl
            key="zone"
            aria-label="Times are shown in"
            value={zone}
            onChange={(value) => setZoneMode(value as ZoneMode)}
            data={[{ value: "mine", label: "My zone" }, { value: "utc", label: "UTC" }, { value: "job", label: "The job’s zone" }]}
          />,
        ],
        [
          "Keys of one letter",
          <Switch key="keys" label="j, k, x, / and others act at once" checked={hasSingleKeys} onChange={(event) => setSingleKeys(event.currentTarget.checked)} />,
        ],
      ]}
    />
  );
}

function Keys() {
  const [isNew, setNew] = useState(false);
  const keys = useQuery({
    queryKey: ["keys", "list"],
    queryFn: async () => (await answer(api.GET("/v1/keys"))).items,
  });
  return (
    <Card
      title="API keys"
      actions={
        <Button size="xs" leftSection={<IconPlus size={14} />} onClick={() => setNew(true)}>
          New key
        </Button>
      }
    >
      <SimpleTable label="API keys" columns={COLUMNS} list={rowsOf(keys)} rowId={({ id }) => id} empty={<EmptyState title="No keys" command="tickwork key create --name ci --scope write" />} />
      {isNew && <NewKeyDialog onClose={() => setNew(false)} />}
    </Card>
  );
}
