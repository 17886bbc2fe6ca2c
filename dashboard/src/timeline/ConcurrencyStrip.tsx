import { expectedConcurrency, peaks, type Shortage, type Wanted } from "./expectedConcurrency";
import classes from "./timeline.module.css";
import type { TimeWindow } from "./timeWindow";

export const STRIP_HEIGHT = 64; // pixels
const TOP = 10;
const COLUMN = 3;
const LEAST = 1.5; // so that little is told from nothing

export interface StripProps {
  window: TimeWindow;
  width: number;
  now: number;
  slots: number;
  busy: readonly { at: number; busy: number }[];
  busyStep: number;
  wanted: readonly Wanted[];
  /** For what lies beyond the due times that are known one by one. */
  counted: readonly { at: number; wanted: number }[];
  countedStep: number;
  shortages: readonly Shortage[];
}

/** How many slots were busy and will be wanted, against those there are. */
export function ConcurrencyStrip(props: StripProps) {
  const { window, width, now, slots, shortages } = props;
  const xOf = (at: number) => ((at - window.from) / (window.until - window.from)) * width;
  const future = futureColumns(props);
  const highest = Math.max(1, slots * 1.15, ...future.map(({ wanted }) => wanted), ...props.busy.map(({ busy }) => busy));
  const yOf = (count: number) => STRIP_HEIGHT - Math.max(count > 0 ? LEAST : 0, (count / highest) * (STRIP_HEIGHT - TOP));
  return (
    <svg className={classes.strip} width={width} height={STRIP_HEIGHT} aria-hidden>
      <defs>
        <pattern id="over" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect width="3" height="6" fill="var(--state-retrying)" />
        </pattern>
      </defs>
      {props.busy.map(({ at, busy }) => {
        const [left, right] = [Math.max(0, xOf(at)), Math.min(xOf(at + props.busyStep), xOf(now))];
        return <rect key={at} x={left} y={yOf(busy)} width={Math.max(0, right - left)} height={STRIP_HEIGHT - yOf(busy)} className={classes.busy} />;
      })}
      {future.map(({ x, wanted }) => (
        <g key={x}>
          <rect x={x} y={yOf(Math.min(wanted, slots || wanted))} width={COLUMN} height={STRIP_HEIGHT - yOf(Math.min(wanted, slots || wanted))} className={classes.wanted} />
          {slots > 0 && wanted > slots && <rect x={x} y={yOf(wanted)} width={COLUMN} height={yOf(slots) - yOf(wanted)} fill="url(#over)" />}
        </g>
      ))}
      {shortages.map(({ from, until }) => (
        <rect key={from} x={xOf(from)} y={0} width={Math.max(3, xOf(until) - xOf(from))} height={3} fill="var(--state-retrying)" />
      ))}
      {slots > 0 && <line x1={0} x2={width} y1={yOf(slots)} y2={yOf(slots)} className={classes.slots} />}
    </svg>
  );
}

/** The most at once in each column of pixels after now. */
function futureColumns({ window, width, now, wanted, counted, countedStep }: StripProps): { x: number; wanted: number }[] {
  const from = Math.max(now, window.from);
  const start = ((from - window.from) / (window.until - window.from)) * width;
  const count = Math.floor((width - start) / COLUMN);
  if (count <= 0) return [];
  const most = peaks(expectedConcurrency(wanted), from, window.until, count);
  const columnLength = (window.until - from) / count;
  for (const each of counted) {
    const first = Math.max(0, Math.floor((each.at - from) / columnLength));
    const last = Math.min(count - 1, Math.floor((each.at + countedStep - 1 - from) / columnLength));
    for (let column = first; column <= last; column += 1) most[column] = Math.max(most[column] ?? 0, each.wanted);
  }
  return most.flatMap((each, place) => (each > 0 ? [{ x: start + place * COLUMN, wanted: each }] : []));
}
