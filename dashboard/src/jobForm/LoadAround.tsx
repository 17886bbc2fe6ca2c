import { useQuery } from "@tanstack/react-query";
import { answer, api } from "../api/client";
import { clockTime } from "../time/formatTime";
import classes from "./JobForm.module.css";
import { describeLoad, minutesOf, type MinuteLoad } from "./loadAround";

const HALF = 30; // minutes before and after
const HEIGHT = 36;
const WIDTH = 6;

/** How many jobs are due in the minutes around a time, so that a quiet one can be chosen. */
export function LoadAround({ at, zone }: { at: string; zone: string }) {
  const from = new Date(Math.floor(Date.parse(at) / 60_000) * 60_000 - HALF * 60_000);
  const until = new Date(from.getTime() + (2 * HALF + 1) * 60_000);
  const { data } = useQuery({
    queryKey: ["upcoming", "around", from.toISOString()],
    queryFn: async () => {
      const query = { from: from.toISOString(), until: until.toISOString(), step: "1m" };
      return (await answer(api.GET("/v1/upcoming", { params: { query } }))) as { items: MinuteLoad[]; estimate: boolean };
    },
    staleTime: 60_000,
    retry: false,
  });
  if (!data) return null;
  const minutes = minutesOf(data.items, from, 2 * HALF + 1);
  const { here, most, quietest } = describeLoad(minutes, at);
  const time = clockTime(new Date(at), zone);
  return (
    <figure className={classes.load}>
      <figcaption>
        {here === 0 ? `Nothing else is due at ${time}.` : `${data.estimate ? "About " : ""}${here} due at ${time} already.`}
        {quietest && ` ${clockTime(new Date(quietest.at), zone)} is quieter, with ${quietest.count}.`}
      </figcaption>
      <svg viewBox={`0 0 ${minutes.length * WIDTH} ${HEIGHT}`} preserveAspectRatio="none" height={HEIGHT} width="100%" aria-hidden>
        {minutes.map((minute, place) => {
          const height = most > 0 ? Math.max(1, (minute.count / most) * (HEIGHT - 6)) : 1;
          const chosen = place === HALF;
          return (
            <rect
              key={minute.at}
              x={place * WIDTH + 1}
              width={WIDTH - 2}
              y={HEIGHT - height}
              height={height}
              fill={chosen ? "var(--link)" : "var(--line-strong)"}
              opacity={chosen ? 1 : 0.6}
            >
              <title>{`${clockTime(new Date(minute.at), zone)}: ${minute.count} due`}</title>
            </rect>
          );
        })}
        <path d={`M${HALF * WIDTH + WIDTH / 2} 5l-3 -5h6z`} fill="var(--link)" />
      </svg>
      <div className={classes.ends} aria-hidden>
        <span>{clockTime(from, zone)}</span>
        <span>{clockTime(until, zone)}</span>
      </div>
    </figure>
  );
}
