import { StateIcon } from "./StateIcon";
import classes from "./StatusBadge.module.css";
import {
  BREAKER_LOOKS,
  executionLook,
  HEALTH_LOOKS,
  JOB_LOOKS,
  lookOf,
  NOTIFICATION_LOOKS,
  PING_LOOKS,
  type StateLook,
  WAITING_WORDS,
  type WaitingFor,
  WORKER_LOOKS,
} from "./states";

/** A state: its shape and its word, and in small what more is known. */
export function StateBadge({ look, detail }: { look: StateLook; detail?: string | undefined }) {
  return (
    <span className={classes.badge}>
      <StateIcon look={look} />
      <span>{look.word}</span>
      {detail && (
        <span className={classes.detail} title={detail}>
          {detail}
        </span>
      )}
    </span>
  );
}

interface ExecutionBadgeProps {
  status: string;
  waitingFor?: string | null;
  /** With what it waits for in words. */
  full?: boolean;
}

export function ExecutionBadge({ status, waitingFor, full = true }: ExecutionBadgeProps) {
  const detail = status === "pending" && full && waitingFor ? WAITING_WORDS[waitingFor as WaitingFor] : undefined;
  return <StateBadge look={executionLook(status, waitingFor)} detail={detail} />;
}

export function JobBadge({ status }: { status: string }) {
  return <StateBadge look={lookOf(JOB_LOOKS, status)} />;
}

export function HealthBadge({ health, failures = 0 }: { health: string; failures?: number }) {
  return <StateBadge look={lookOf(HEALTH_LOOKS, health)} detail={failures > 1 ? `${failures} in a row` : undefined} />;
}

export function WorkerBadge({ status }: { status: string }) {
  return <StateBadge look={lookOf(WORKER_LOOKS, status)} />;
}

export function BreakerBadge({ state }: { state: string }) {
  return <StateBadge look={lookOf(BREAKER_LOOKS, state)} />;
}

export function PingBadge({ status, failures = 0 }: { status: string; failures?: number }) {
  return <StateBadge look={lookOf(PING_LOOKS, status)} detail={failures > 1 ? `${failures} in a row` : undefined} />;
}

/** What is on its way after attempts that failed is told with their number. */
export function NotificationBadge({ status, attempts }: { status: string; attempts: number }) {
  const isRetried = status === "sending" && attempts > 0;
  return <StateBadge look={lookOf(NOTIFICATION_LOOKS, isRetried ? "retrying" : status)} detail={isRetried ? `${attempts} failed` : undefined} />;
}
