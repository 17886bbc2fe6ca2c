import type { Schemas } from "../../api/client";
import { StateIcon } from "../../parts/StateIcon";
import { formatDuration } from "../../time/formatDuration";
import { clockTime, shortTime } from "../../time/formatTime";
import { useSeconds } from "../../time/now";
import { useZone } from "../../time/zone";
import classes from "./AttemptTimeline.module.css";
import { placeOf, type Segment, type Stretch, stretches, type TimelineRow, timelineRows } from "./attemptTimeline";

interface AttemptTimelineProps {
  execution: Schemas["ExecutionView"];
  attempts: readonly Schemas["AttemptView"][];
  jobZone?: string | null | undefined;
}

const WORDS: Record<Segment["kind"], string> = { waiting: "waited", "back-off": "backed off", running: "ran" };

/** When the execution waited, ran and backed off: one row for each attempt, on one axis. */
export function AttemptTimeline({ execution, attempts, jobZone }: AttemptTimelineProps) {
  const now = useSeconds();
  const zone = useZone(jobZone);
  const rows = timelineRows(execution, attempts, now.getTime());
  const axis = stretches(rows);
  const first = axis[0];
  const last = axis.at(-1);
  if (!first || !last) return null;
  return (
    <div className={classes.timeline}>
      <ol className={classes.rows}>
        {rows.map((row) => (
          <li key={row.attempt} className={classes.row}>
            <span className={classes.number}>Attempt {row.attempt}</span>
            <div className={classes.track}>
              {row.segments.map((segment) => (
                <Bar key={segment.kind} segment={segment} axis={axis} />
              ))}
              {axis.filter((each) => each.folded).map((each) => (
                <span key={each.from} className={classes.fold} style={span(each, axis)} data-tip={`${formatDuration((each.until - each.from) / 1000)} are folded here`} />
              ))}
              <RowLabel row={row} axis={axis} now={now.getTime()} />
            </div>
          </li>
        ))}
      </ol>
      <div className={classes.axis} aria-hidden>
        <span>{axisTime(first.from, last.until - first.from, zone, now)}</span>
        <span>{axisTime(last.until, last.until - first.from, zone, now)}</span>
      </div>
    </div>
  );
}

const HOUR = 3_600_000; // milliseconds

function axisTime(at: number, length: number, zone: string, now: Date): string {
  return length < HOUR ? clockTime(new Date(at), zone, true) : shortTime(new Date(at), zone, now);
}

function Bar({ segment, axis }: { segment: Segment; axis: readonly Stretch[] }) {
  return (
    <span
      className={classes.bar}
      data-pattern={segment.kind === "running" ? segment.look.pattern : segment.kind}
      data-open={segment.isOpen || undefined}
      style={{ ...span(segment, axis), color: segment.look.color }}
      data-tip={describe(segment)}
    >
      <span className="visually-hidden">{describe(segment)}</span>
    </span>
  );
}

/** Beside the bars, so that short ones can be read, too. */
function RowLabel({ row, axis, now }: { row: TimelineRow; axis: readonly Stretch[]; now: number }) {
  const segment = row.segments.at(-1);
  if (!segment) return null;
  const words = segment.kind === "running" ? formatDuration((segment.until - segment.from) / 1000) : comingWords(segment, now);
  return (
    <span className={classes.label} style={{ left: `calc(${placeOf(segment.until, axis) * 100}% + 8px)` }}>
      {segment.kind === "running" && <StateIcon look={segment.look} size={12} />}
      {words}
    </span>
  );
}

function comingWords(segment: Segment, now: number): string {
  const left = Math.ceil((segment.until - now) / 1000);
  return left > 0 ? `in ${formatDuration(left)}` : `waits for ${formatDuration((now - segment.from) / 1000)}`;
}

function describe(segment: Segment): string {
  const length = formatDuration((segment.until - segment.from) / 1000);
  const outcome = segment.kind === "running" ? `: ${segment.look.word.toLowerCase()}` : "";
  return `${segment.isOpen ? "so far, " : ""}${WORDS[segment.kind]} ${length}${outcome}`;
}

function span({ from, until }: { from: number; until: number }, axis: readonly Stretch[]): React.CSSProperties {
  const start = placeOf(from, axis);
  return { left: `${start * 100}%`, width: `${(placeOf(until, axis) - start) * 100}%` };
}
