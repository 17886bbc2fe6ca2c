import { Button, Group, Modal, Select, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { answer, api, type Schemas } from "../api/client";
import { CodeBlock } from "../parts/CodeBlock";
import { Problem } from "../parts/Problem";
import { useAction } from "../parts/useAction";

type Scope = Schemas["Scope"];

const SCOPES: { value: Scope; label: string }[] = [
  { value: "read", label: "read: see everything, change nothing" },
  { value: "write", label: "write: also create, change and run jobs" },
  { value: "worker", label: "worker: run attempts, for a worker process" },
  { value: "admin", label: "admin: everything, keys and nodes included" },
];

const LIFETIMES = [
  { value: "30", label: "in 30 days" },
  { value: "90", label: "in 90 days" },
  { value: "365", label: "in a year" },
];

const DAY = 86_400_000; // milliseconds

/** Makes an API key and shows its secret, which the server does not tell again. */
export function NewKeyDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [scope, setScope] = useState<Scope>("write");
  const [days, setDays] = useState<string | null>(null);
  const creating = useAction({
    act: () =>
      answer(
        api.POST("/v1/keys", {
          body: { name: name.trim(), scopes: [scope], tenant: null, expires_at: days ? new Date(Date.now() + Number(days) * DAY).toISOString() : null },
        }),
      ),
    done: () => `The key ${name.trim()} is made`,
    changes: ["keys"],
  });
  const secret = creating.data?.secret;
  return (
    <Modal opened onClose={onClose} title="New API key" closeButtonProps={{ "aria-label": "Close" }} closeOnClickOutside={!secret}>
      {secret ? (
        <>
          <Text mb="sm">Copy it now: it is not shown again.</Text>
          <CodeBlock code={secret} what="the key" wrap />
          <Group justify="flex-end" mt="lg">
            <Button onClick={onClose}>I have copied it</Button>
          </Group>
        </>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            creating.mutate(undefined);
          }}
        >
          <TextInput label="Name" description="who or what uses it, such as ci or billing-worker" value={name} onChange={(event) => setName(event.currentTarget.value)} required data-autofocus />
          <Select label="Scope" data={SCOPES} value={scope} onChange={(value) => setScope((value as Scope | null) ?? "write")} allowDeselect={false} mt="sm" />
          <Select label="Expires" data={LIFETIMES} value={days} onChange={setDays} placeholder="never" clearable mt="sm" />
          {Boolean(creating.error) && <Problem error={creating.error} />}
          <Group justify="flex-end" mt="lg">
            <Button variant="default" onClick={onClose}>
              No key
            </Button>
            <Button type="submit" loading={creating.isPending} disabled={!name.trim()}>
              Make the key
            </Button>
          </Group>
        </form>
      )}
    </Modal>
  );
}
