import { Button } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { Link, useNavigate } from "@tanstack/react-router";
import { answer, api } from "../api/client";
import { useMay } from "../api/session";
import { CHANNEL_COLUMNS } from "../channels/channelColumns";
import type { Channel } from "../channels/useChannels";
import { DataTable } from "../list/DataTable";
import { usePagedList } from "../list/usePagedList";
import { EmptyState } from "../parts/EmptyState";
import { PageHeader } from "../parts/PageHeader";

const rowId = ({ name }: Channel) => name;

/** Where notifications go, and whether they arrive. */
export default function ChannelsPage() {
  const mayWrite = useMay("write");
  const navigate = useNavigate();
  const list = usePagedList<Channel>({
    queryKey: ["channels", "list"],
    fetchPage: (cursor) => answer(api.GET("/v1/channels", { params: { query: { limit: 100, ...(cursor ? { cursor } : {}) } } })),
    rowId,
    refetchInterval: 10_000, // that a message was delivered is no event
  });
  const create = mayWrite && (
    <Button component={Link} to="/channels/new" leftSection={<IconPlus size={14} />}>
      New channel
    </Button>
  );
  return (
    <>
      <PageHeader title="Channels" sentence="Where notifications go. Figures are of the latest 100 messages of each." actions={create} />
      <DataTable
        name="channels"
        label="Channels"
        noun="channel"
        columns={CHANNEL_COLUMNS}
        list={list}
        rowId={rowId}
        onOpen={({ name }) => void navigate({ to: "/channels/$name", params: { name } })}
        empty={
          <EmptyState
            title="No channels yet"
            text="A chat, a mailbox, a pager, a URL of yours: define it once under a name, and let jobs and rules refer to it."
            command="tickwork channel set ops --kind slack --url -"
          />
        }
      />
    </>
  );
}
