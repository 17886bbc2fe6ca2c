import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { answer, api } from "../api/client";
import { useMay } from "../api/session";
import { CHANNEL_KINDS, goesTo } from "../channels/channelKinds";
import { ChannelOverview } from "../channels/ChannelOverview";
import { channelLook } from "../channels/channelState";
import { DeleteChannel } from "../channels/DeleteChannel";
import { PauseChannel } from "../channels/PauseChannel";
import type { Channel } from "../channels/useChannels";
import classes from "../job/Job.module.css";
import { useRules } from "../notifications/useRules";
import { every } from "../live/useLive";
import { Answer } from "../parts/Answer";
import { PageHeader } from "../parts/PageHeader";
import { StateBadge } from "../parts/StatusBadge";

const ChannelEdit = lazy(async () => ({ default: (await import("../channels/ChannelEdit")).ChannelEdit }));
const ChannelTemplate = lazy(async () => ({ default: (await import("../channels/ChannelTemplate")).ChannelTemplate }));

const route = getRouteApi("/inside/channels/$name");

const TABS = [
  { tab: undefined, word: "Overview" },
  { tab: "template", word: "Texts" },
  { tab: "edit", word: "Edit" },
] as const;

/** One place where notifications go. */
export default function ChannelPage() {
  const { name } = route.useParams();
  const channel = useQuery({
    queryKey: ["channels", "one", name],
    queryFn: () => answer(api.GET("/v1/channels/{name}", { params: { path: { name } } })),
    refetchInterval: every(5_000), // that a message was delivered is no event
  });
  return <Answer query={channel}>{(data) => <ChannelTabs key={data.name} channel={data} />}</Answer>;
}

function ChannelTabs({ channel }: { channel: Channel }) {
  const { tab } = route.useSearch();
  const mayWrite = useMay("write");
  const rules = (useRules().data ?? []).filter(({ to }) => to.includes(channel.name));
  return (
    <>
      <PageHeader
        title={channel.name}
        beside={<StateBadge look={channelLook(channel)} />}
        sentence={`${CHANNEL_KINDS[channel.kind]?.label ?? channel.kind}: ${goesTo(channel)}`}
        actions={
          mayWrite && (
            <>
              <PauseChannel channel={channel} />
              <DeleteChannel channel={channel} rules={rules.map(({ name }) => name)} />
            </>
          )
        }
      />
      {mayWrite && (
        <nav className={classes.tabs} aria-label="Parts of this channel">
          {TABS.map((each) => (
            <Link key={each.word} to="/channels/$name" params={{ name: channel.name }} search={each.tab ? { tab: each.tab } : {}} className={classes.tab} activeOptions={{ exact: true, includeSearch: true }} data-current={tab === each.tab || undefined}>
              {each.word}
            </Link>
          ))}
        </nav>
      )}
      <Suspense>
        {mayWrite && tab === "edit" ? <ChannelEdit channel={channel} /> : mayWrite && tab === "template" ? <ChannelTemplate channel={channel} /> : <ChannelOverview channel={channel} rules={rules} />}
      </Suspense>
    </>
  );
}
