import type { Schemas } from "../api/client";
import classes from "./timeline.module.css";
import type { TimeWindow } from "./timeWindow";

export const STRIP_HEIGHT = 64; // pixels
const TOP = 10;
const LEAST = 1.5; // so that little is told from nothing
const FAR = 5;

type SlotsInUse = Schemas["SlotsInUse"];

export interface StripProps {
  window: TimeWindow;
  width: number;
  now: number;
  slots: number;
  busy: readonly SlotsInUse[];
  wanted: readonly SlotsInUse[];
  shortages: readonly Schemas["Shortage"][];
}

/** How many slots were busy and will be wanted, against those there are. */
export function ConcurrencyStrip({ window, width, now, slots, busy, wanted, shortages }: StripProps) {
  const xOf = (at: number) => Math.min(Math.max(((at - window.from) / (window.until - window.from)) * width, 0), width);
  const columns = (parts: readonly SlotsInUse[], from: number, until: number) =>
    parts.flatMap((part) => {
      const [left, right] = [xOf(Math.max(Date.parse(part.from), from)), xOf(Math.min(Date.parse(part.until), until))];
      return right > left ? [{ left, width: right - left, slots: part.slots }] : [];
    });
  const past = columns(busy, window.from, now);
  const future = columns(wanted, now, window.until);
  const most = Math.max(1, ...[...past, ...future].map((each) => each.slots));
  const hasLine = slots > 0 && slots <= most * FAR; // far more slots than are needed would press the rest to the ground
  const highest = hasLine ? Math.max(most, slots * 1.15) : most * 1.15;
  const yOf = (count: number) => STRIP_HEIGHT - Math.max(count > 0 ? LEAST : 0, (count / highest) * (STRIP_HEIGHT - TOP));
  return (
    <svg className={classes.strip} width={width} height={STRIP_HEIGHT} aria-hidden>
      <defs>
        <pattern id="over" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect width="3" height="6" fill="var(--state-retrying)" />
        </pattern>
      </defs>
      {past.map((each) => (
        <rect key={each.left} x={each.left} y={yOf(each.slots)} width={each.width} height={STRIP_HEIGHT - yOf(each.slots)} className={classes.busy} />
      ))}
      {future.map((each) => {
        const top = yOf(Math.min(each.slots, slots || each.slots));
        return (
          <g key={each.left}>
            <rect x={each.left} y={top} width={each.width} height={STRIP_HEIGHT - top} className={classes.wanted} />
            {slots > 0 && each.slots > slots && <rect x={each.left} y={yOf(each.slots)} width={each.width} height={yOf(slots) - yOf(each.slots)} fill="url(#over)" />}
          </g>
        );
      })}
      {shortages.map(({ from, until }) => {
        const left = xOf(Date.parse(from));
        return <rect key={from} x={left} y={0} width={Math.max(3, xOf(Date.parse(until)) - left)} height={3} fill="var(--state-retrying)" />;
      })}
      {hasLine && <line x1={0} x2={width} y1={yOf(slots)} y2={yOf(slots)} className={classes.slots} />}
    </svg>
  );
}
