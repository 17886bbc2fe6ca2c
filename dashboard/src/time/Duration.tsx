import { formatDuration } from "./formatDuration";
import { useSeconds } from "./now";

interface DurationProps {
  /** Seconds. */
  seconds?: number | null | undefined;
  /** Instead: from one time to another, or to now while it lasts. */
  from?: string | null | undefined;
  until?: string | null | undefined;
}

/** How long something took, or takes so far. */
export function Duration({ seconds, from, until }: DurationProps) {
  if (seconds !== null && seconds !== undefined) return <Words seconds={seconds} />;
  if (!from) return <span>–</span>;
  if (until) return <Words seconds={(Date.parse(until) - Date.parse(from)) / 1000} />;
  return <Growing from={from} />;
}

function Words({ seconds }: { seconds: number }) {
  return (
    <span style={{ whiteSpace: "nowrap" }} title={`${seconds} s`}>
      {formatDuration(seconds)}
    </span>
  );
}

function Growing({ from }: { from: string }) {
  const now = useSeconds();
  return <Words seconds={Math.max(0, Math.round((now.getTime() - Date.parse(from)) / 1000))} />;
}
