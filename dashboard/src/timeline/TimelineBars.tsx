import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useRef } from "react";
import { BAR_HEIGHT, type Shape } from "./layoutShapes";
import { paintBars } from "./paintBars";
import classes from "./timeline.module.css";

const MOST_ELEMENTS = 2000;
const NOTCH = 4; // pixels
const DIGIT = 7; // pixels

/** The bars of all rows. Beyond 2,000 they are painted, since so many elements would make the page slow. */
export function TimelineBars({ shapes, width, height }: { shapes: readonly Shape[]; width: number; height: number }) {
  if (shapes.length > MOST_ELEMENTS) return <PaintedBars shapes={shapes} width={width} height={height} />;
  return (
    <svg className={classes.bars} width={width} height={height} aria-hidden data-bars={shapes.length}>
      <defs>
        <pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect width="5" height="5" fill="var(--card)" />
          <rect width="2" height="5" fill="var(--state-neutral)" />
        </pattern>
      </defs>
      {shapes.map((shape) => (
        <BarShape key={`${shape.row}:${shape.bar.state}:${shape.bar.from}:${shape.bar.until}`} shape={shape} />
      ))}
    </svg>
  );
}

function BarShape({ shape }: { shape: Shape }) {
  const { x, y, width, bar, look } = shape;
  const outline = { x: x + 0.5, y: y + 0.5, width: Math.max(1, width - 1), height: BAR_HEIGHT - 1, rx: 2 };
  const words = String(bar.count);
  const hasRoom = bar.count > 1 && width > words.length * DIGIT + 8;
  return (
    <g data-state={bar.state} className={classes.bar}>
      {look.pattern === "notched" ? (
        <path d={notched(x, y, width)} fill={look.color} />
      ) : look.pattern === "solid" ? (
        <rect x={x} y={y} width={width} height={BAR_HEIGHT} rx={2} fill={look.color} />
      ) : (
        <rect
          {...outline}
          fill={look.pattern === "hatched" ? "url(#hatch)" : "var(--card)"}
          stroke={look.color}
          strokeWidth={1.2}
          strokeDasharray={DASHES[look.pattern]}
        />
      )}
      {hasRoom && (
        <text x={x + width / 2} y={y + BAR_HEIGHT - 4.5} textAnchor="middle">
          {words}
        </text>
      )}
    </g>
  );
}

const DASHES: Record<string, string | undefined> = { dashed: "3 2", dotted: "1.2 2" };

/** A bar with a notch at its end: a failure can be told without its colour. */
function notched(x: number, y: number, width: number): string {
  const depth = Math.min(NOTCH, width / 2);
  return `M${x} ${y}h${width}l${-depth} ${BAR_HEIGHT / 2}l${depth} ${BAR_HEIGHT / 2}h${-width}z`;
}

function PaintedBars({ shapes, width, height }: { shapes: readonly Shape[]; width: number; height: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const scheme = useComputedColorScheme("light");
  useEffect(() => {
    if (canvas.current) paintBars(canvas.current, shapes, width, height);
  }, [shapes, width, height, scheme]);
  return <canvas ref={canvas} className={classes.bars} style={{ width, height }} aria-hidden data-bars={shapes.length} />;
}
