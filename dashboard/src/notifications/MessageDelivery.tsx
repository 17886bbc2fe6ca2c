import type { Schemas } from "../api/client";
import { JsonBlock } from "../parts/CodeBlock";
import { CHANNEL_LOOKS, EXECUTION_LOOKS, lookOf, type StateLook, WAITING_LOOKS } from "../parts/states";
import { StateBadge } from "../parts/StatusBadge";
import { Duration } from "../time/Duration";
import { TimeText } from "../time/TimeText";
import classes from "./Notifications.module.css";

type Attempt = Schemas["DeliveryAttempt"];

const LOOKS: Record<string, StateLook> = {
  completed: { ...CHANNEL_LOOKS.ok, word: "Delivered" },
  failed: { ...EXECUTION_LOOKS.failed, word: "Failed" },
  lost: { ...WAITING_LOOKS.retry, word: "Its server was lost" },
  snoozed: { ...WAITING_LOOKS.retry, word: "Postponed" },
  running: EXECUTION_LOOKS.running,
};

/** How a message was delivered: each attempt, latest first, and what the receiver answered. */
export function MessageDelivery({ message }: { message: Schemas["MessageView"] }) {
  const { attempts, answer } = message;
  return (
    <>
      {attempts.length === 0 ? (
        <p className={classes.hint}>{message.status === "sending" ? "It was not tried yet." : "Its attempts are no longer known."}</p>
      ) : (
        <ol className={classes.attempts} aria-label="Attempts">
          {attempts.toReversed().map((attempt) => (
            <OneAttempt key={attempt.attempt} attempt={attempt} />
          ))}
        </ol>
      )}
      {answer !== null && answer !== undefined && (
        <>
          <h3 className={classes.subtitle}>What the receiver answered</h3>
          <JsonBlock value={answer} what="the answer" maxHeight={200} />
        </>
      )}
    </>
  );
}

function OneAttempt({ attempt }: { attempt: Attempt }) {
  return (
    <li>
      <div className={classes.attempt}>
        <span className={classes.number}>{attempt.attempt}</span>
        <StateBadge look={lookOf(LOOKS, attempt.outcome ?? "running")} />
        <TimeText at={attempt.finished_at ?? attempt.started_at} />
        <span className={classes.took}>
          <Duration from={attempt.started_at} until={attempt.finished_at} />
        </span>
      </div>
      {attempt.error && (
        <p className={classes.reason}>
          <strong>{attempt.error.type}</strong> {attempt.error.message}
        </p>
      )}
    </li>
  );
}
