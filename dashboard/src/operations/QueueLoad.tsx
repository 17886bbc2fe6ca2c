import type { Schemas } from "../api/client";
import classes from "./QueueLoad.module.css";

const FULL = 1_000_000; // executions: the widest bar

/** What runs and what waits in a queue, by its order of magnitude: one beside ten thousand is still seen. */
export function QueueLoad({ queue: { running, depth } }: { queue: Schemas["QueueView"] }) {
  const all = running + depth;
  if (all === 0) return null;
  const width = Math.max(0.06, Math.log10(1 + all) / Math.log10(FULL));
  return (
    <span className={classes.load} style={{ width: `${Math.min(1, width) * 100}%` }} role="img" aria-label={`${running} running, ${depth} waiting`}>
      {running > 0 && <span className={classes.running} style={{ flexGrow: running }} />}
      {depth > 0 && <span className={classes.waiting} style={{ flexGrow: depth }} />}
    </span>
  );
}
