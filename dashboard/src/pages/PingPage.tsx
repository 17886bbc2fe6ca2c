import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { answer, api } from "../api/client";
import { useMay } from "../api/session";
import classes from "../job/Job.module.css";
import { Answer } from "../parts/Answer";
import { Card } from "../parts/Card";
import { CodeBlock } from "../parts/CodeBlock";
import { Facts } from "../parts/Facts";
import { PageHeader } from "../parts/PageHeader";
import { PingBadge } from "../parts/StatusBadge";
import { PingEdit } from "../pings/PingEdit";
import { PingHistory } from "../pings/PingHistory";
import { PingReports } from "../pings/PingReports";
import type { Ping } from "../pings/pingColumns";
import { DeletePing } from "../pings/DeletePing";
import { Duration } from "../time/Duration";
import { ScheduleWords, zoneOf } from "../time/ScheduleWords";
import { TimeText } from "../time/TimeText";

const route = getRouteApi("/inside/pings/$name");

/** One thing that runs elsewhere: how it is doing, what became of its runs, and how it reports. */
export default function PingPage() {
  const { name } = route.useParams();
  const ping = useQuery({
    queryKey: ["pings", "one", name],
    queryFn: () => answer(api.GET("/v1/pings/{name}", { params: { path: { name } } })),
    refetchInterval: 5_000, // a success is no event
  });
  return <Answer query={ping}>{(data) => <PingParts ping={data} />}</Answer>;
}

function PingParts({ ping }: { ping: Ping }) {
  const { tab } = route.useSearch();
  const mayWrite = useMay("write");
  const isEdited = mayWrite && tab === "edit";
  return (
    <>
      <PageHeader
        title={ping.name}
        beside={<PingBadge status={ping.status} failures={ping.failures_in_a_row} />}
        sentence={<Sentence ping={ping} />}
        actions={mayWrite && <Actions ping={ping} isEdited={isEdited} />}
      />
      {isEdited ? <PingEdit ping={ping} /> : <PingOverview ping={ping} />}
    </>
  );
}

function Actions({ ping, isEdited }: { ping: Ping; isEdited: boolean }) {
  return (
    <>
      <Button component={Link} to="/pings/$name" params={{ name: ping.name } as never} search={(isEdited ? {} : { tab: "edit" }) as never} variant="default">
        {isEdited ? "Back" : "Edit"}
      </Button>
      <DeletePing name={ping.name} />
    </>
  );
}

function Sentence({ ping }: { ping: Ping }) {
  const zone = zoneOf(ping.schedule);
  return (
    <>
      <ScheduleWords words={ping.schedule_words.charAt(0).toUpperCase() + ping.schedule_words.slice(1)} schedule={ping.schedule} />
      {ping.expected_at ? (
        <>
          {". Expected "}
          <TimeText at={ping.expected_at} jobZone={zone} />
          {", missing "}
          <Duration seconds={ping.grace} /> later.
        </>
      ) : (
        ". Not expected any more."
      )}
    </>
  );
}

function PingOverview({ ping }: { ping: Ping }) {
  return (
    <div className={classes.columns}>
      <div>
        <PingHistory ping={ping} />
        <Card title="How it reports">
          <PingReports ping={ping} />
        </Card>
      </div>
      <div>
        <Card title="How it is doing">
          <Doing ping={ping} />
        </Card>
        {ping.log && (
          <Card title="Log of the run in progress">
            <CodeBlock code={ping.log} what="the log" maxHeight={260} wrap />
          </Card>
        )}
      </div>
    </div>
  );
}

function Doing({ ping }: { ping: Ping }) {
  const { statistics } = ping;
  const zone = zoneOf(ping.schedule);
  return (
    <Facts
      facts={[
        ["Last success", <TimeText key="success" at={ping.last_success_at} jobZone={zone} missing="none yet" />],
        ["Last heard", <TimeText key="heard" at={ping.last_heard_at} jobZone={zone} missing="never" />],
        ["Running since", <TimeText key="running" at={ping.started_at} jobZone={zone} />],
        ...(ping.failing_since ? ([["Failing since", <TimeText key="since" at={ping.failing_since} jobZone={zone} />]] as const) : []),
        ["Succeeded", statistics?.success_share === null || statistics?.success_share === undefined ? "–" : `${(100 * statistics.success_share).toFixed(1)} % of ${statistics.runs}`],
        ["Typical run time", <Duration key="typical" seconds={statistics?.typical_run_time} />],
        ["95 % are below", <Duration key="p95" seconds={statistics?.p95_run_time} />],
        ["Typical delay", <Duration key="delay" seconds={statistics?.typical_delay} />],
        ["Grace", <Duration key="grace" seconds={ping.grace} />],
        ["Told", <Told key="told" notify={ping.notify} />],
        ["Created", <TimeText key="created" at={ping.created_at} />],
        ...(ping.description ? ([["Description", ping.description]] as const) : []),
      ]}
    />
  );
}

function Told({ notify }: { notify: Ping["notify"] }) {
  if (notify.length === 0) return "nobody";
  return notify.map(({ on, to }) => <div key={on.join()}>{`${on.join(", ")}: ${(to ?? []).join(", ") || "nobody"}`}</div>);
}
