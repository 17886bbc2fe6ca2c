import { useElementSize } from "@mantine/hooks";
import { useMemo, useRef, useState } from "react";
import { absoluteTime } from "../time/formatTime";
import { formatDuration } from "../time/formatDuration";
import { useZone } from "../time/zone";
import { ConcurrencyStrip, STRIP_HEIGHT, type StripProps } from "./ConcurrencyStrip";
import { countWords, ROW_HEIGHT, layoutShapes, type Shape, shapeAt } from "./layoutShapes";
import type { Row } from "./rowOf";
import { TimelineBars } from "./TimelineBars";
import classes from "./timeline.module.css";
import { timeTicks } from "./timeTicks";
import { type TimeWindow, zoomed } from "./timeWindow";

const AXIS = 24; // pixels
const TICK_ROOM = 76; // pixels for the word of a tick
const A_DRAG = 6; // pixels from which on a press is a drag

interface TimelinePlotProps {
  rows: readonly Row[];
  window: TimeWindow;
  now: number;
  strip: Omit<StripProps, "window" | "width" | "now">;
  onZoom: (window: TimeWindow) => void;
  onOpen: (row: Row, shape: Shape) => void;
}

/** Rows, axis, the line of now and the strip below. A drag zooms, a click opens what it hits. */
export function TimelinePlot({ rows, window, now, strip, onZoom, onOpen }: TimelinePlotProps) {
  const { ref, width } = useElementSize<HTMLDivElement>();
  const zone = useZone();
  const height = rows.length * ROW_HEIGHT;
  const shapes = useMemo(() => layoutShapes(rows.map(({ runs }) => runs), window, width), [rows, window, width]);
  const pressed = useRef<number | null>(null);
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const [hover, setHover] = useState<{ x: number; y: number } | null>(null);
  const hit = hover && !drag ? shapeAt(shapes, hover.x, hover.y - AXIS) : undefined;
  const onPointerDown = (event: React.PointerEvent) => {
    if (event.button !== 0 || event.pointerType === "touch") return;
    event.currentTarget.setPointerCapture(event.pointerId);
    pressed.current = place(event).x;
  };
  const onPointerMove = (event: React.PointerEvent) => {
    const { x, y } = place(event);
    setHover({ x, y });
    const start = pressed.current;
    if (start !== null && (drag || Math.abs(x - start) > A_DRAG)) setDrag([start, Math.min(Math.max(0, x), width)]);
  };
  const onPointerUp = (event: React.PointerEvent) => {
    const { x, y } = place(event);
    pressed.current = null;
    if (drag) onZoom(zoomed(window, Math.min(...drag) / width, Math.max(...drag) / width));
    else open(shapeAt(shapes, x, y - AXIS));
    setDrag(null);
  };
  const open = (shape: Shape | undefined) => {
    const row = shape && rows[shape.row];
    if (row) onOpen(row, shape);
  };
  return (
    <div
      ref={ref}
      className={classes.plot}
      data-hit={hit ? "" : undefined}
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onPointerUp={onPointerUp}
      onPointerLeave={() => setHover(null)}
      onPointerCancel={() => setDrag(null)}
    >
      {width > 0 && (
        <>
          <Lines window={window} now={now} width={width} height={height} rows={rows.length} zone={zone} />
          <TimelineBars shapes={shapes} width={width} height={height} />
          <ConcurrencyStrip {...strip} window={window} width={width} now={now} />
        </>
      )}
      {drag && <div className={classes.brush} style={{ left: Math.min(...drag), width: Math.abs(drag[1] - drag[0]) }} />}
      {hit && hover && <Tip row={rows[hit.row]} shape={hit} x={Math.min(hover.x, width - 200)} y={hover.y} zone={zone} />}
    </div>
  );
}

function place(event: React.PointerEvent): { x: number; y: number } {
  const box = event.currentTarget.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

interface LinesProps {
  window: TimeWindow;
  now: number;
  width: number;
  height: number;
  rows: number;
  zone: string;
}

function Lines({ window, now, width, height, rows, zone }: LinesProps) {
  const xOf = (at: number) => ((at - window.from) / (window.until - window.from)) * width;
  const ticks = timeTicks(window.from, window.until, zone, Math.max(2, Math.floor(width / TICK_ROOM)));
  const nowX = xOf(now);
  const hasNow = nowX >= 0 && nowX <= width;
  const bottom = AXIS + height + STRIP_HEIGHT + 1;
  return (
    <>
      <svg className={classes.lines} width={width} height={bottom} aria-hidden>
        {nowX < width && <rect x={Math.max(0, nowX)} y={AXIS} width={width - Math.max(0, nowX)} height={bottom - AXIS} className={classes.future} />}
        {Array.from({ length: rows }, (_, row) => (
          <line key={row} x1={0} x2={width} y1={AXIS + row * ROW_HEIGHT + 0.5} y2={AXIS + row * ROW_HEIGHT + 0.5} className={classes.row} />
        ))}
        {ticks.map(({ at, isDay }) => (
          <line key={at} x1={xOf(at)} x2={xOf(at)} y1={AXIS} y2={bottom} className={classes.tick} data-day={isDay || undefined} />
        ))}
        {hasNow && <line x1={nowX} x2={nowX} y1={AXIS - 4} y2={bottom} className={classes.now} />}
      </svg>
      <svg className={classes.axis} width={width} height={AXIS} aria-hidden>
        {ticks
          .filter(({ at }) => (!hasNow || Math.abs(xOf(at) - nowX) > 40) && xOf(at) > 16 && xOf(at) < width - 16)
          .map(({ at, word }) => (
            <text key={at} x={xOf(at)} y={16} textAnchor="middle">
              {word}
            </text>
          ))}
        {hasNow && (
          <g className={classes.nowWord}>
            <rect x={nowX - 18} y={3} width={36} height={18} rx={4} />
            <text x={nowX} y={16} textAnchor="middle">
              Now
            </text>
          </g>
        )}
      </svg>
    </>
  );
}

interface TipProps {
  row: Row | undefined;
  shape: Shape;
  x: number;
  y: number;
  zone: string;
}

function Tip({ row, shape: { bar, look }, x, y, zone }: TipProps) {
  const length = formatDuration((bar.until - bar.from) / 1000);
  const isDue = bar.state === "due";
  const lines = [
    row?.title ?? "",
    bar.count === 1 ? look.word : countWords(bar.counts),
    absoluteTime(new Date(bar.from), zone),
    isDue && bar.count === 1 ? `usually takes ${length}` : bar.count === 1 ? `for ${length}` : `until ${absoluteTime(new Date(bar.until), zone)}`,
  ];
  return (
    <div className={classes.tip} style={{ left: Math.max(0, x + 12), top: y + 14 }}>
      {lines.join("\n")}
    </div>
  );
}
