import classes from "./ProgressBar.module.css";

/** How far a running execution says it is. */
export function ProgressBar({ fraction, message }: { fraction: number; message: string | null }) {
  const percent = Math.round(fraction * 100);
  return (
    <div className={classes.progress}>
      <progress className={classes.bar} value={fraction} max={1} aria-label="Progress" />
      <span>{percent} %</span>
      {message && <span className={classes.message}>{message}</span>}
    </div>
  );
}
