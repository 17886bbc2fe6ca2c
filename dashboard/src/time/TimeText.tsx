import { absoluteTime, changesIn, relativeTime, shortTime } from "./formatTime";
import { useNow } from "./now";
import { MY_ZONE, useZone } from "./zone";

interface TimeTextProps {
  at: string | null | undefined;
  /** The zone of the job that the time belongs to. */
  jobZone?: string | null | undefined;
  /** The date and the time of day instead of the distance from now. */
  absolute?: boolean;
  /** When something is due: it is now for a moment, until it has started. */
  due?: boolean;
  /** What to show if there is no time. */
  missing?: string;
}

const DUE_GRACE = 10; // seconds

/** A time: how far from now, and on hover in full in the chosen zone, the job's, the viewer's and UTC. */
export function TimeText({ at, jobZone, absolute = false, due = false, missing = "–" }: TimeTextProps) {
  return at ? <GivenTime at={at} jobZone={jobZone} absolute={absolute} due={due} /> : <span>{missing}</span>;
}

interface GivenTimeProps {
  at: string;
  jobZone: string | null | undefined;
  absolute: boolean;
  due: boolean;
}

function GivenTime({ at, jobZone, absolute, due }: GivenTimeProps) {
  const time = new Date(at);
  const zone = useZone(jobZone);
  const now = useNow((current) => (absolute ? 600_000 : changesIn(time, current)));
  const zones = [...new Set([zone, jobZone, MY_ZONE, "UTC"].filter((each): each is string => Boolean(each)))];
  return (
    <time dateTime={at} style={{ whiteSpace: "nowrap" }} data-tip={zones.map((each) => absoluteTime(time, each)).join("\n")}>
      {absolute ? shortTime(time, zone, now) : relativeTime(time, now, zone, due ? DUE_GRACE : 0)}
    </time>
  );
}
