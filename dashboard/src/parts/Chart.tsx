import { lazy, Suspense } from "react";
import classes from "./Chart.module.css";

export interface ChartSeries {
  label: string;
  /** One value per time; null is a gap. */
  values: readonly (number | null)[];
  /** A CSS colour or variable: "var(--state-failed)". */
  color: string;
  /** How it is drawn; a dash tells lines apart without colour. */
  draw?: "line" | "area" | "bars";
  dash?: readonly number[];
}

export interface ChartProps {
  /** What it shows, in a few words: it is the caption. */
  title: string;
  /** Seconds since 1970, ascending. */
  times: readonly number[];
  series: readonly ChartSeries[];
  height?: number;
  /** "12", "3.4 s" */
  formatValue?: (value: number) => string;
  /** The zone of the axis; the one that is chosen in the top bar if left out. */
  zone?: string;
  /** Charts with the same group share their cursor. */
  group?: string;
  /** A drag over the chart chooses a range: seconds since 1970. */
  onRange?: (from: number, until: number) => void;
}

const ChartCanvas = lazy(() => import("./ChartCanvas"));

/** A chart over time, drawn by uPlot, which is loaded when the first chart is shown; and its table, for all who cannot see it. */
export function Chart(props: ChartProps) {
  const height = props.height ?? 180;
  return (
    <figure className={classes.figure}>
      <figcaption className={classes.caption}>
        <span>{props.title}</span>
        <Legend series={props.series} />
      </figcaption>
      <Suspense fallback={<div style={{ height }} />}>
        <ChartCanvas {...props} height={height} />
      </Suspense>
      <ChartTable {...props} />
    </figure>
  );
}

function Legend({ series }: { series: readonly ChartSeries[] }) {
  return (
    <span className={classes.legend} aria-hidden>
      {series.map(({ label, color, draw, dash }) => (
        <span key={label} className={classes.item}>
          <svg width="16" height="8">
            {draw === "bars" ? (
              <rect x="2" width="12" height="8" fill={color} />
            ) : (
              <line y1="4" x2="16" y2="4" stroke={color} strokeWidth="2" strokeDasharray={dash?.join(" ")} />
            )}
          </svg>
          {label}
        </span>
      ))}
    </span>
  );
}

const TABLE_ROWS = 200;

/** Every figure of the chart in words; only the latest where there are very many. */
function ChartTable({ title, times, series, formatValue = String }: ChartProps) {
  const first = Math.max(0, times.length - TABLE_ROWS);
  return (
    <div className="visually-hidden">
      <table>
        <caption>{title}</caption>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {series.map(({ label }) => (
              <th key={label} scope="col">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {times.slice(first).map((time, place) => (
            <tr key={time}>
              <th scope="row">{new Date(time * 1000).toISOString()}</th>
              {series.map(({ label, values }) => (
                <td key={label}>{words(values[first + place], formatValue)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function words(value: number | null | undefined, formatValue: (value: number) => string): string {
  return value === null || value === undefined ? "none" : formatValue(value);
}
