import { Button, Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMay, useMe } from "../api/session";
import { Card } from "../parts/Card";
import { StateIcon } from "../parts/StateIcon";
import { BREAKER_LOOKS, CHANNEL_LOOKS, EXECUTION_LOOKS, HEALTH_LOOKS, lookOf, PING_LOOKS, type StateLook, WORKER_LOOKS } from "../parts/states";
import { Duration } from "../time/Duration";
import { formatDuration } from "../time/formatDuration";
import { TimeText } from "../time/TimeText";
import { type Concern, concernsOf } from "./attention";
import { redriveCause, resetBreaker, resumeQueue, retryJob } from "./attentionActions";
import classes from "./overview.module.css";
import { channelsQuery, clusterQuery, overviewQuery, pingsQuery } from "./overviewQueries";

const MOST = 10;

/** What needs somebody, each with what can be done about it. */
export function AttentionList() {
  const me = useMe();
  const seesCluster = useMay("admin") && me?.tenant === "default";
  const overview = useQuery(overviewQuery);
  const cluster = useQuery({ ...clusterQuery, enabled: seesCluster });
  const pings = useQuery(pingsQuery);
  const channels = useQuery(channelsQuery);
  const concerns = overview.data ? concernsOf(overview.data, cluster.data?.nodes, pings.data, channels.data) : [];
  return (
    <Card title="Needs attention" actions={concerns.length > MOST ? <Link to="/jobs" search={{ health: "failing" }}>All failing jobs</Link> : undefined}>
      {!overview.data ? (
        <Skeleton height={120} />
      ) : concerns.length === 0 ? (
        <p className={classes.well}>
          <StateIcon look={HEALTH_LOOKS.ok} />
          {cluster.error ? "Nothing is known to need you, but the nodes could not be read." : "Nothing needs you: no job fails, no queue is stuck, and all workers report."}
        </p>
      ) : (
        <ul className={classes.concerns}>
          {concerns.slice(0, MOST).map((concern) => (
            <li key={keyOf(concern)}>
              <StateIcon look={lookOfConcern(concern)} size={16} labelled />
              <div className={classes.concern}>
                <Words concern={concern} />
              </div>
              <Action concern={concern} />
            </li>
          ))}
        </ul>
      )}
      {concerns.length > MOST && <p className={classes.more}>and {(concerns.length - MOST).toLocaleString("en")} more</p>}
    </Card>
  );
}

function keyOf(concern: Concern): string {
  const { kind } = concern;
  if (kind === "cause") return `cause ${concern.fingerprint}`;
  if (kind === "breaker") return `breaker ${concern.destination}`;
  return `${kind} ${kind === "queue" || kind === "ping" || kind === "channel" ? concern.name : concern.id}`;
}

function lookOfConcern(concern: Concern): StateLook {
  switch (concern.kind) {
    case "job":
      return HEALTH_LOOKS.failing;
    case "cause":
      return concern.deadLetters > 0 ? EXECUTION_LOOKS.dead : EXECUTION_LOOKS.failed;
    case "breaker":
      return lookOf(BREAKER_LOOKS, concern.state);
    case "queue":
      return HEALTH_LOOKS.late;
    case "channel":
      return CHANNEL_LOOKS.failing;
    case "ping":
      return lookOf(PING_LOOKS, concern.status);
    case "worker":
      return WORKER_LOOKS.silent;
    case "node":
      return { ...(concern.status === "silent" ? HEALTH_LOOKS.late : HEALTH_LOOKS.failing), word: concern.status };
  }
}

function Words({ concern }: { concern: Concern }) {
  switch (concern.kind) {
    case "job":
      return (
        <Line head={<Link to="/jobs/$id" params={{ id: concern.id }}>{concern.name}</Link>}>
          failed {concern.failures > 1 && `${concern.failures.toLocaleString("en")} times in a row, last `}
          <TimeText at={concern.at} />
        </Line>
      );
    case "cause":
      return (
        <Line
          head={
            <Link to="/dead-letters" search={{ fingerprint: concern.fingerprint }}>
              {concern.type} in {concern.task}
            </Link>
          }
          detail={concern.message}
        >
          {concern.deadLetters > 0 && <>{many(concern.deadLetters, "dead letter")}, </>}
          {concern.lastHour > 0 && <>{concern.lastHour.toLocaleString("en")} in the last hour, </>}
          last <TimeText at={concern.at} />
        </Line>
      );
    case "breaker":
      return (
        <Line head={<Link to="/breakers" search={{ q: concern.destination }}>{concern.destination}</Link>} detail={concern.reason}>
          has not been called for <Duration from={concern.at} />, {many(concern.waiting, "execution")} {concern.waiting === 1 ? "waits" : "wait"}
        </Line>
      );
    case "queue":
      return (
        <Line head={<Link to="/queues" search={{ queue: concern.name }}>Queue {concern.name}</Link>}>
          {concern.isExact ? "" : "more than "}
          {concern.depth.toLocaleString("en")} {concern.depth === 1 ? "waits" : "wait"}, the oldest for {formatDuration(concern.age)}: {REASONS[concern.why]}
        </Line>
      );
    case "channel":
      return (
        <Line head={<Link to="/channels/$name" params={{ name: concern.name }}>Channel {concern.name}</Link>} detail={concern.error}>
          does not receive its notifications{concern.at ? <>: the last one arrived <TimeText at={concern.at} /></> : null}
          {concern.undelivered > 0 && `, ${concern.undelivered.toLocaleString("en")} ${concern.undelivered === 1 ? "waits" : "wait"}`}
        </Line>
      );
    case "ping":
      return (
        <Line head={<Link to="/pings/$name" params={{ name: concern.name }}>Ping {concern.name}</Link>}>
          {concern.status === "missing" ? "stays away" : "fails"}
          {concern.failures > 1 && `, ${concern.failures.toLocaleString("en")} times in a row`}, for <Duration from={concern.at} />
        </Line>
      );
    case "worker":
      return (
        <Line head={<Link to="/workers" search={{ worker: concern.id }}>Worker {concern.name}</Link>}>
          has been silent for <Duration from={concern.at} /> and holds {concern.holding > 0 ? many(concern.holding, "execution") : "no execution"}
        </Line>
      );
    case "node":
      return (
        <Line head={<Link to="/cluster">Node {concern.host}</Link>} detail={concern.problems.join("; ")}>
          is {concern.status}, seen <TimeText at={concern.at} />
        </Line>
      );
  }
}

const REASONS = { paused: "it is paused", "no worker": "no worker serves it", slow: "its workers are busy, or none fits" };

function many(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

function Line({ head, detail, children }: { head: React.ReactNode; detail?: string | null; children: React.ReactNode }) {
  return (
    <>
      <strong>{head}</strong> <span className={classes.facts}>{children}</span>
      {detail && <span className={classes.detail}>{detail}</span>}
    </>
  );
}

function button(word: string, name: string, act: () => Promise<void>) {
  return (
    <Button variant="default" aria-label={`${word} ${name}`} onClick={() => void act()}>
      {word}
    </Button>
  );
}

function Action({ concern }: { concern: Concern }) {
  const mayWrite = useMay("write");
  if (!mayWrite) return null;
  switch (concern.kind) {
    case "job":
      return button("Retry", concern.name, () => retryJob(concern.id, concern.name));
    case "cause":
      return concern.deadLetters > 0 ? button("Redrive", concern.type, () => redriveCause(concern)) : null;
    case "breaker":
      return button("Reset", concern.destination, () => resetBreaker(concern.destination, concern.waiting));
    case "queue":
      return concern.why === "paused" ? button("Resume", concern.name, () => resumeQueue(concern.name)) : null;
    default:
      return null;
  }
}
