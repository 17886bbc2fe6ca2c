import type { Schemas } from "../../api/client";
import { CodeBlock } from "../../parts/CodeBlock";
import { StateBadge } from "../../parts/StatusBadge";
import { Duration } from "../../time/Duration";
import { TimeText } from "../../time/TimeText";
import classes from "./AttemptErrors.module.css";
import { outcomeLook } from "./attemptTimeline";
import { usageWords } from "./usageWords";

type Attempt = Schemas["AttemptView"];

/** Each attempt that ended badly, latest first, with its own error: never several errors in one text. */
export function AttemptErrors({ attempts }: { attempts: readonly Attempt[] }) {
  const failed = attempts.filter((each) => each.error || each.silent_for !== null).toReversed();
  return (
    <div className={classes.errors}>
      {failed.map((attempt, place) => {
        const worker = attempt.worker_name ?? attempt.worker;
        return (
          <details key={`${attempt.attempt} ${attempt.started_at}`} className={classes.error} open={place === 0}>
            <summary className={classes.summary}>
              <span className={classes.number}>Attempt {attempt.attempt}</span>
              <StateBadge look={outcomeLook(attempt.outcome)} />
              <span className={classes.message}>
                {attempt.error ? (
                  <>
                    <strong>{attempt.error.type}</strong> {firstLine(attempt.error.message)}
                  </>
                ) : (
                  "the worker was silent"
                )}
              </span>
              <span className={classes.facts}>
                {worker && `${worker} · `}
                <TimeText at={attempt.finished_at} /> · <Duration from={attempt.started_at} until={attempt.finished_at} />
                {attempt.usage && ` · ${usageWords(attempt)}`}
              </span>
            </summary>
            {attempt.error && <CodeBlock code={attempt.error.traceback ?? attempt.error.message} what={`the error of attempt ${attempt.attempt}`} wrap />}
            {attempt.silent_for !== null && <p className={classes.lost}>Nothing was heard from the worker for {Math.round(attempt.silent_for)} s before it was given up.</p>}
            {attempt.log_tail && (
              <>
                <h3 className={classes.tail}>The end of its output</h3>
                <CodeBlock code={attempt.log_tail} what={`the end of the output of attempt ${attempt.attempt}`} wrap maxHeight={200} />
              </>
            )}
          </details>
        );
      })}
    </div>
  );
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}
