import type { Schemas } from "../api/client";
import { EXECUTION_LOOKS, lookOf, UNKNOWN_LOOK } from "../parts/states";

const ORDER = ["failed", "running", "pending", "cancelled", "skipped", "none", "completed"] as const;
const WIDTH = 200;
const HEIGHT = 12;
const LEAST = 6; // pixels, so that one failure among thousands can be seen

/** How many jobs of a workflow are in which state, as one bar. What is not solid has an outline; a failure has a notch. */
export function StateBar({ states }: { states: Schemas["WorkflowView"]["states"] }) {
  const shown = ORDER.filter((state) => states[state] > 0);
  const total = shown.reduce((sum, state) => sum + states[state], 0);
  const room = WIDTH - shown.length * LEAST;
  const words = shown.map((state) => `${states[state].toLocaleString("en")} ${state === "none" ? "not run" : state}`).join(", ");
  const widths = shown.map((state) => LEAST + (room * states[state]) / total);
  const starts = widths.map((_, place) => widths.slice(0, place).reduce((sum, width) => sum + width, 0));
  return (
    <svg width={WIDTH} height={HEIGHT} role="img" aria-label={words} data-tip={words} style={{ display: "block" }}>
      {shown.map((state, place) => {
        const width = widths[place] ?? LEAST;
        const start = starts[place] ?? 0;
        const look = state === "none" ? UNKNOWN_LOOK : lookOf(EXECUTION_LOOKS, state);
        const solid = look.pattern === "solid" || look.pattern === "notched";
        return (
          <g key={state}>
            <rect x={start + 0.5} y={0.5} width={Math.max(2, width - 2)} height={HEIGHT - 1} fill={solid ? look.color : "none"} stroke={look.color} />
            {look.pattern === "notched" && <path d={`M${start} 0h6l-3 5z`} fill="var(--card)" />}
          </g>
        );
      })}
    </svg>
  );
}
