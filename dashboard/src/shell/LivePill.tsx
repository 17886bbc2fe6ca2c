import type { LiveStatus } from "../live/LiveStream";
import { useLive } from "../live/useLive";
import { formatDuration } from "../time/formatDuration";
import { useSeconds } from "../time/now";
import classes from "./LivePill.module.css";

const WORDS: Record<LiveStatus, string> = {
  live: "Live",
  connecting: "Connecting",
  paused: "Paused",
  stale: "Stale",
  offline: "Offline",
};

/** Says how current the page is; a click freezes it and lets it go on. */
export function LivePill() {
  const live = useLive();
  const now = useSeconds();
  const age = Math.max(0, Math.round((now.getTime() - live.freshAt) / 1000));
  const tellsAge = live.status === "stale" || live.status === "offline" || live.status === "paused";
  const action = live.status === "paused" ? "Go on" : "Pause";
  return (
    <button
      type="button"
      className={classes.pill}
      data-status={live.status}
      data-tip={tellsAge ? `The figures are from ${formatDuration(age)} ago. ${action}?` : `Updates as it happens. ${action}?`}
      aria-label={`${WORDS[live.status]}. ${action} live updates`}
      onClick={live.status === "paused" ? live.resume : live.pause}
    >
      <span className={classes.dot} aria-hidden />
      <span>{WORDS[live.status]}</span>
      {tellsAge && <span className={classes.age}>{formatDuration(age)}</span>}
    </button>
  );
}
