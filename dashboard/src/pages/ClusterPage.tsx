import { useQuery } from "@tanstack/react-query";
import { answer, api, type Schemas } from "../api/client";
import { useMay } from "../api/session";
import type { Column } from "../list/columns";
import { SimpleTable } from "../list/SimpleTable";
import { rowsOf } from "../list/rowList";
import { Answer } from "../parts/Answer";
import { Card } from "../parts/Card";
import { EmptyState } from "../parts/EmptyState";
import { Facts } from "../parts/Facts";
import { PageHeader } from "../parts/PageHeader";
import { StateBadge } from "../parts/StatusBadge";
import { HEALTH_LOOKS, type StateLook } from "../parts/states";
import { PauseCluster, PausedCluster } from "../operations/ClusterPause";
import { formatBytes } from "../operations/formatBytes";
import { Duration } from "../time/Duration";
import { TimeText } from "../time/TimeText";

type Node = Schemas["NodeView"];

const NODE_LOOKS: Record<Node["status"], StateLook> = {
  ready: { ...HEALTH_LOOKS.ok, word: "Ready" },
  unwell: { ...HEALTH_LOOKS.failing, word: "Unwell" },
  silent: { ...HEALTH_LOOKS.late, word: "Silent" },
};

const COLUMNS: Column<Node>[] = [
  { id: "host", header: "Node", width: 160, grows: true, always: true, cell: ({ host, pid, answers }) => `${host} · ${pid}${answers ? " (this page)" : ""}` },
  { id: "status", header: "Status", width: 120, cell: ({ status }) => <StateBadge look={NODE_LOOKS[status]} /> },
  { id: "problems", header: "Problems", width: 140, grows: true, cell: ({ status, problems }) => (status === "silent" ? "it no longer reports" : problems.join("; ") || "none") },
  { id: "skew", header: "Clock skew", width: 100, align: "right", cell: ({ clock_skew }) => <Duration seconds={clock_skew} /> },
  { id: "latency", header: "Database", width: 90, align: "right", cell: ({ database_latency }) => <Duration seconds={database_latency} /> },
  { id: "address", header: "Address", width: 140, cell: ({ address }) => address },
  { id: "version", header: "Version", width: 80, cell: ({ version }) => version },
  { id: "started", header: "Started", width: 110, cell: ({ started_at }) => <TimeText at={started_at} /> },
  { id: "seen", header: "Seen", width: 100, cell: ({ seen_at }) => <TimeText at={seen_at} /> },
];

/** The nodes that run Tickwork and the database that they share. */
export default function ClusterPage() {
  const may = useMay("admin");
  return (
    <>
      <PageHeader title="Cluster" sentence="The nodes that run Tickwork, and the database that they share." />
      {may ? <Cluster /> : <EmptyState title="This is for operators" text="Sign in with a key of scope admin to see nodes and database." command="tickwork key create --name operator --scope admin" />}
    </>
  );
}

function Cluster() {
  const cluster = useQuery({
    queryKey: ["cluster"],
    queryFn: () => answer(api.GET("/v1/cluster")),
    refetchInterval: 5_000, // nodes report every few seconds, without an event
  });
  return (
    <Answer query={cluster}>
      {(data) => (
        <>
          {data.paused && <PausedCluster cluster={data} />}
          <Card title="Nodes" actions={data.paused ? undefined : <PauseCluster />}>
            <SimpleTable label="Nodes" columns={COLUMNS} list={rowsOf({ ...cluster, data: data.nodes })} rowId={({ id }) => id} empty={<EmptyState title="No nodes" />} />
          </Card>
          <Card title="Database">
            <DatabaseFacts cluster={data} />
          </Card>
        </>
      )}
    </Answer>
  );
}

const LOSS_WORDS: Record<Schemas["FailoverView"]["loss"], string> = {
  none: "no commits were lost",
  possible: "commits may have been lost",
  certain: "commits were lost",
};

function Failover({ failover }: { failover: Schemas["FailoverView"] }) {
  return (
    <>
      <TimeText at={failover.noticed_at} />: {LOSS_WORDS[failover.loss]}
    </>
  );
}

function DatabaseFacts({ cluster }: { cluster: Schemas["ClusterView"] }) {
  const { database, disk, replica } = cluster;
  const last = cluster.failovers?.[0];
  return (
    <Facts
      facts={[
        ["PostgreSQL", `${database.version}${database.embedded ? " (embedded)" : ""}`],
        ["Role", database.is_replica ? "replica: it takes no writes" : "primary"],
        ["Replicas", database.replicas],
        ["Size", formatBytes(database.size_bytes)],
        ["Connections", `${database.connections_used} of ${database.connections_allowed}`],
        ["Answers in", <Duration key="latency" seconds={database.latency} />],
        ["Schema", `version ${cluster.schema_version}`],
        ["Partitions until", <TimeText key="partitions" at={cluster.partitions_until} />],
        ["Time zone data", cluster.zone_data],
        ["Read replica", replica ? (replica.usable ? "answers lists" : `is not used: it ${replica.problem}`) : "none"],
        ["Last failover", last ? <Failover key="failover" failover={last} /> : "none seen"],
        ["Backed up", cluster.backed_up_at ? <TimeText key="backup" at={cluster.backed_up_at} /> : "never, as far as is known"],
        ["Free disk", disk ? `${formatBytes(disk.free_bytes)} of ${formatBytes(disk.size_bytes)}` : null],
      ]}
    />
  );
}
