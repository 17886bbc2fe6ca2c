import { formatDuration } from "../time/formatDuration";
import { type OutcomeBar, outcomeBars, type RecentRun, stripWords } from "./outcomeBars";

const WIDTH = 4;
const GAP = 1;
const HEIGHT = 22;
const SLOTS = 30;

/** The last 30 outcomes of a job, oldest at the left: height is duration; a notch, a hatch or an outline and the colour
 * tell the state. Slots without a run have a dot, so that the strips of a table line up. */
export function OutcomeStrip({ runs }: { runs: readonly RecentRun[] | null | undefined }) {
  const bars = outcomeBars(runs ?? [], formatDuration);
  const empty = SLOTS - bars.length;
  const label = bars.length === 0 ? "It has not run yet" : `Last ${bars.length}: ${stripWords(runs ?? [])}`;
  return (
    <svg
      width={SLOTS * (WIDTH + GAP)}
      height={HEIGHT}
      role="img"
      aria-label={label}
      data-tip={label}
      style={{ display: "block" }}
    >
      {Array.from({ length: empty }, (_, slot) => (
        // oxlint-disable-next-line react/no-array-index-key -- they are all alike
        <circle key={slot} cx={slot * (WIDTH + GAP) + WIDTH / 2} cy={HEIGHT - 2} r={0.9} fill="var(--line-strong)" />
      ))}
      {bars.map((bar, place) => (
        <Bar key={bar.id} bar={bar} x={(empty + place) * (WIDTH + GAP)} />
      ))}
    </svg>
  );
}

function Bar({ bar, x }: { bar: OutcomeBar; x: number }) {
  const height = Math.round(bar.height * HEIGHT);
  const y = HEIGHT - height;
  const hollow = bar.pattern === "hollow" || bar.pattern === "dashed" || bar.pattern === "dotted";
  return (
    <g>
      <title>{bar.words}</title>
      {hollow || bar.pattern === "hatched" ? (
        <rect
          x={x + 0.5}
          y={y + 0.5}
          width={WIDTH - 1}
          height={Math.max(2, height - 1)}
          fill="none"
          stroke={bar.color}
          strokeDasharray={bar.pattern === "hatched" ? "2 1" : undefined}
        />
      ) : (
        <rect x={x} y={y} width={WIDTH} height={height} fill={bar.color} rx={0.5} />
      )}
      {bar.pattern === "notched" && <path d={`M${x} ${y - 0.5}h${WIDTH}l-${WIDTH / 2} 4z`} fill="var(--card)" />}
    </g>
  );
}
