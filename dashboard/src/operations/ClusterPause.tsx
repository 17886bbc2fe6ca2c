import { Button, Group, Select, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api, type Schemas } from "../api/client";
import { Answer } from "../parts/Answer";
import { Card } from "../parts/Card";
import { confirm } from "../parts/confirm";
import { Facts } from "../parts/Facts";
import { useAction } from "../parts/useAction";
import { TimeText } from "../time/TimeText";

type Choices = Required<Schemas["ResumeRequest"]>;
type Report = Schemas["ResumeReport"];

const CHANGES = ["cluster", "overview", "executions", "jobs", "queues", "events"];
const MOST_COUNTED = 10_000;

const MISSED: { value: Choices["missed"]; label: string }[] = [
  { value: "catch_up", label: "run as each job's catch-up policy says" },
  { value: "skip", label: "none of them runs" },
];
const RUNNING: { value: Choices["running"]; label: string }[] = [
  { value: "on_worker_lost", label: "as each job says of a lost worker" },
  { value: "retry", label: "all of them run again" },
  { value: "cancel", label: "all of them are cancelled" },
];
const OVERDUE: { value: Choices["overdue"]; label: string }[] = [
  { value: "run", label: "they run" },
  { value: "cancel", label: "they are cancelled" },
];

/** Pauses the whole cluster. */
export function PauseCluster() {
  const pausing = useAction({
    act: () => answer(api.POST("/v1/cluster/pause", { body: { reason: null } })),
    done: () => "The cluster is paused",
    changes: CHANGES,
  });
  const ask = async () => {
    const yes = await confirm({
      title: "Pause the whole cluster?",
      effect: "No job of any tenant fires, and nothing is handed to workers, until somebody resumes it. What runs goes on.",
      action: "Pause the cluster",
      danger: true,
    });
    if (yes) pausing.mutate(undefined);
  };
  return (
    <Button size="compact-xs" variant="default" loading={pausing.isPending} onClick={() => void ask()}>
      Pause the cluster
    </Button>
  );
}

/** What a paused cluster would do, and the choices with which it is resumed. */
export function PausedCluster({ cluster }: { cluster: Schemas["ClusterView"] }) {
  const report = useQuery({
    queryKey: ["cluster", "resume-report"],
    queryFn: () => answer(api.GET("/v1/cluster/resume-report", { params: { query: { limit: 5 } } })),
    refetchInterval: 10_000,
  });
  const { paused, restored } = cluster;
  return (
    <Card title="Paused">
      <Facts
        facts={[
          ["Since", paused && <TimeText key="since" at={paused.at} />],
          ["By", paused?.by],
          ["Why", paused?.reason],
          ...(restored ? ([["Restored with data until", <TimeText key="until" at={restored.data_until} />]] as const) : []),
        ]}
      />
      <Answer query={report}>{(data) => <ResumeForm report={data} />}</Answer>
    </Card>
  );
}

/** There may be too much to do for one request. */
async function resume(choices: Choices): Promise<unknown> {
  const done = await answer(api.POST("/v1/cluster/resume", { body: choices }));
  return done.resumed ? done : resume(choices);
}

function ResumeForm({ report }: { report: Report }) {
  const [missed, setMissed] = useState<Choices["missed"]>("catch_up");
  const [running, setRunning] = useState<Choices["running"]>("on_worker_lost");
  const [overdue, setOverdue] = useState<Choices["overdue"]>("run");
  const resuming = useAction({
    act: resume,
    done: () => "The cluster goes on",
    changes: CHANGES,
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        resuming.mutate({ missed, running, overdue });
      }}
    >
      <Group align="flex-end" mt="md">
        <Select label={`${count(report.missed_jobs, "recurring job was", "recurring jobs were")} due meanwhile`} description={named(report.missed)} data={MISSED} value={missed} onChange={(value) => setMissed((value as Choices["missed"] | null) ?? "catch_up")} allowDeselect={false} miw={300} />
        <Select label={`${count(report.interrupted_executions, "execution was", "executions were")} interrupted`} description={named(report.interrupted)} data={RUNNING} value={running} onChange={(value) => setRunning((value as Choices["running"] | null) ?? "on_worker_lost")} allowDeselect={false} miw={300} />
        <Select label={`${count(report.overdue_executions, "execution is", "executions are")} overdue`} description={named(report.overdue)} data={OVERDUE} value={overdue} onChange={(value) => setOverdue((value as Choices["overdue"] | null) ?? "run")} allowDeselect={false} miw={300} />
      </Group>
      <Text c="dimmed" mt="sm">
        <code>tickwork cluster report</code> lists them. Jobs can be paused, cancelled or changed one by one before.
      </Text>
      <Group mt="md">
        <Button type="submit" loading={resuming.isPending}>
          Resume the cluster
        </Button>
      </Group>
    </form>
  );
}

function count(number: number, one: string, many: string): string {
  return `${number.toLocaleString("en")}${number >= MOST_COUNTED ? " or more" : ""} ${number === 1 ? one : many}`;
}

function named(items: readonly { name: string | null; task: string }[]): string {
  return items.length === 0 ? "none" : items.map(({ name, task }) => name ?? task).join(", ");
}
