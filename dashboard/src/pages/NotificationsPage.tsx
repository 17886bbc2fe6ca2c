import { Button } from "@mantine/core";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useChannelNames } from "../channels/useChannels";
import { FilterBar, type Filters } from "../list/FilterBar";
import { useFilters } from "../list/useFilters";
import { ViewChoice } from "../list/ViewChoice";
import { NOTIFICATION_COLUMNS } from "../notifications/notificationColumns";
import { notificationFields } from "../notifications/notificationFilters";
import { NotificationTable } from "../notifications/NotificationTable";
import { EmptyState } from "../parts/EmptyState";
import { PageHeader } from "../parts/PageHeader";

const route = getRouteApi("/inside/notifications/");

const VIEWS: readonly { word: string; filters: Filters }[] = [
  { word: "All", filters: {} },
  { word: "Failed", filters: { status: "failed" } },
  { word: "On their way", filters: { status: "sending" } },
  { word: "Gathered", filters: { status: "waiting" } },
];

/** What channels are told, and what became of it. */
export default function NotificationsPage() {
  const filters: Filters = route.useSearch();
  const [, change] = useFilters();
  const channels = useChannelNames();
  const isFiltered = Object.values(filters).some(Boolean);
  return (
    <>
      <PageHeader
        title="Notifications"
        sentence="What channels are told: one line for each cause, with how many facts it has gathered."
        actions={
          <Button component={Link} to="/notification-rules" variant="default">
            Who is told of what
          </Button>
        }
      />
      <ViewChoice to="/notifications" views={VIEWS} filters={filters} />
      <FilterBar fields={notificationFields(filters, channels ?? [])} value={filters} onChange={change} />
      <NotificationTable name="notifications" label="Notifications" columns={NOTIFICATION_COLUMNS} filters={filters} empty={isFiltered ? <NoMatch /> : <Nothing hasChannels={Boolean(channels?.length)} />} />
    </>
  );
}

function NoMatch() {
  return <EmptyState title="No notification matches" text="Take a filter away, or look further back." />;
}

function Nothing({ hasChannels }: { hasChannels: boolean }) {
  return (
    <EmptyState
      title="Nobody was told anything yet"
      text={hasChannels ? "A rule says who is told of what. With this one, a channel hears of every failure:" : "First a channel: a chat, a mailbox, a pager or a URL of yours. Then a rule that says what it is told of."}
      command={hasChannels ? "tickwork notification set-rule all --on failed --on recovered --to CHANNEL" : "tickwork channel set ops --kind slack --url -"}
    />
  );
}
