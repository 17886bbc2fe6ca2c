import { useElementSize } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { executionLook } from "../parts/states";
import { formatDuration } from "../time/formatDuration";
import { shortTime } from "../time/formatTime";
import { useNow } from "../time/now";
import { useZone } from "../time/zone";
import classes from "./Job.module.css";
import { scatterOf, type ScatterPoint, type ScatterRun } from "./scatter";

interface DurationScatterProps {
  runs: readonly ScatterRun[];
  typical: number | null;
  p95: number | null;
}

const HEIGHT = 200;
const LABELS = 120; // pixels at the right, for the words of the lines

/** Each run as a point: when, how long, how it ended. The lines are the typical duration and the 95th percentile. */
export function DurationScatter({ runs, typical, p95 }: DurationScatterProps) {
  const { ref, width } = useElementSize();
  const navigate = useNavigate();
  const zone = useZone();
  const frame = { left: 58, top: 10, width: Math.max(100, width - 58 - LABELS), height: HEIGHT - 36 };
  const chart = scatterOf(runs, frame);
  const now = useNow(() => 600_000);
  return (
    <div ref={ref} className={classes.scatter}>
      {width > 0 && chart.points.length > 0 && (
        <svg width={width} height={HEIGHT} role="img" aria-label={`Durations of the last ${chart.points.length} runs`}>
          {chart.ticks.map(({ value, y }) => (
            <g key={value}>
              <line x1={frame.left} x2={frame.left + frame.width} y1={y} y2={y} stroke="var(--line)" />
              <text x={frame.left - 8} y={y + 4} textAnchor="end" className={classes.axis}>
                {formatDuration(value)}
              </text>
            </g>
          ))}
          {chart.points.map((point) => (
            <Point key={point.id} point={point} zone={zone} now={now} onOpen={() => void navigate({ to: "/executions/$id", params: { id: point.id } })} />
          ))}
          <Level value={typical} words="typical" frame={frame} yOf={chart.yOf} />
          <Level value={p95} words="p95" frame={frame} yOf={chart.yOf} dash="4 3" above={typical} />
          <text x={frame.left} y={HEIGHT - 6} className={classes.axis}>
            {shortTime(new Date(chart.from * 1000), zone, now)}
          </text>
          <text x={frame.left + frame.width} y={HEIGHT - 6} textAnchor="end" className={classes.axis}>
            {shortTime(new Date(chart.until * 1000), zone, now)}
          </text>
        </svg>
      )}
    </div>
  );
}

interface LevelProps {
  value: number | null;
  words: string;
  frame: { left: number; width: number };
  yOf: (value: number) => number;
  dash?: string;
  /** Another line below this one, whose word must stay readable. */
  above?: number | null;
}

const LINE = 13; // pixels

function Level({ value, words, frame, yOf, dash, above }: LevelProps) {
  if (value === null || value <= 0) return null;
  const y = yOf(value);
  const wordY = above ? Math.min(y, yOf(above) - LINE) : y;
  return (
    <g>
      <line x1={frame.left} x2={frame.left + frame.width} y1={y} y2={y} stroke="var(--secondary)" strokeDasharray={dash} />
      <text x={frame.left + frame.width + 6} y={wordY + 4} className={classes.axis}>
        {words} {formatDuration(value)}
      </text>
    </g>
  );
}

/** A circle for what completed, a square for what failed, a ring for the rest. The list below opens them by keyboard. */
function Point({ point, zone, now, onOpen }: { point: ScatterPoint; zone: string; now: Date; onOpen: () => void }) {
  const look = executionLook(point.status);
  const words = `${look.word}, ${formatDuration(point.duration)}, ${shortTime(new Date(point.at * 1000), zone, now)}`;
  return (
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-static-element-interactions -- the list has links to all
    <g onClick={onOpen} className={classes.point}>
      <title>{words}</title>
      {point.status === "failed" ? (
        <rect x={point.x - 3.5} y={point.y - 3.5} width={7} height={7} fill={look.color} />
      ) : (
        <circle
          cx={point.x}
          cy={point.y}
          r={3.5}
          fill={point.status === "completed" ? look.color : "none"}
          stroke={look.color}
          fillOpacity={0.75}
        />
      )}
    </g>
  );
}
