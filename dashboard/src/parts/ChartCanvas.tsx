import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useEffectEvent, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { absoluteTime, clockTime, shortTime } from "../time/formatTime";
import { useZone } from "../time/zone";
import type { ChartProps, ChartSeries } from "./Chart";
import classes from "./Chart.module.css";

const DAY = 86_400;

/** The canvas of a chart, with the figures under the cursor below it. */
export default function ChartCanvas(props: ChartProps & { height: number }) {
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [under, setUnder] = useState<number | null>(null);
  const scheme = useComputedColorScheme("light");
  const chosen = useZone();
  const zone = props.zone ?? chosen;
  const choose = useEffectEvent((from: number, until: number) => props.onRange?.(from, until));
  const data = [props.times, ...props.series.map(({ values }) => values)] as unknown as uPlot.AlignedData;
  const shape = JSON.stringify([props.series.map(({ label, color, draw, dash }) => [label, color, draw, dash]), scheme, zone, props.height]);
  const make = useEffectEvent((element: HTMLDivElement) => new uPlot(options(props, zone, element, setUnder, choose), data, element));
  useEffect(() => {
    const element = holder.current;
    if (!element) return undefined;
    const made = make(element);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: made.height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(data));
  return (
    <>
      <div ref={holder} aria-hidden />
      <div className={classes.readout} aria-hidden>
        {under === null ? " " : readout(props, zone, under)}
      </div>
    </>
  );
}

function options(
  { series, height = 180, formatValue = String, group, onRange }: ChartProps,
  zone: string,
  element: HTMLElement,
  onCursor: (index: number | null) => void,
  choose: (from: number, until: number) => void,
): uPlot.Options {
  const style = getComputedStyle(element);
  const axis = { stroke: style.getPropertyValue("--secondary"), grid: { stroke: style.getPropertyValue("--line"), width: 1 }, ticks: { show: false } };
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    padding: [8, 20, 0, 0], // room for half of the last word
    cursor: {
      drag: { x: Boolean(onRange), y: false, setScale: false },
      ...(group ? { sync: { key: group } } : {}),
      points: { size: 6 },
    },
    scales: { x: { time: true }, y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.1 : 1] } },
    axes: [
      { ...axis, size: 28, values: (_plot, splits) => splits.map((split) => axisTime(split, splits, zone)) },
      { ...axis, size: 56, values: (_plot, splits) => splits.map((split) => formatValue(split)) },
    ],
    series: [{}, ...series.map((each) => drawn(each, style))],
    hooks: {
      setCursor: [(made) => onCursor(made.cursor.idx ?? null)],
      setSelect: [
        (made) => {
          if (made.select.width < 4) return;
          choose(made.posToVal(made.select.left, "x"), made.posToVal(made.select.left + made.select.width, "x"));
          made.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
    },
  };
}

function drawn({ label, color, draw = "line", dash }: ChartSeries, style: CSSStyleDeclaration): uPlot.Series {
  const solid = resolved(color, style);
  const bars = uPlot.paths.bars?.({ size: [0.8, 40] });
  return {
    label,
    stroke: solid,
    width: draw === "bars" ? 0 : 1.5,
    points: { show: false },
    ...(draw === "line" ? {} : { fill: draw === "bars" ? solid : `${solid}22` }),
    ...(draw === "bars" && bars ? { paths: bars } : {}),
    ...(dash ? { dash: [...dash] } : {}),
  };
}

/** A canvas knows no CSS variables. */
function resolved(color: string, style: CSSStyleDeclaration): string {
  const name = /^var\((--[\w-]+)\)$/.exec(color)?.[1];
  return name ? style.getPropertyValue(name).trim() : color;
}

function axisTime(split: number, splits: readonly number[], zone: string): string {
  const at = new Date(split * 1000);
  const step = (splits[1] ?? split) - (splits[0] ?? split);
  if (step >= DAY) return shortTime(at, zone, new Date()).split(",")[0] ?? "";
  return clockTime(at, zone, step < 60);
}

function readout({ times, series, formatValue = String }: ChartProps, zone: string, index: number): string {
  const time = times[index];
  if (time === undefined) return " ";
  const figures = series.map(({ label, values }) => {
    const value = values[index];
    return `${label} ${value === null || value === undefined ? "–" : formatValue(value)}`;
  });
  return [absoluteTime(new Date(time * 1000), zone), ...figures].join(" · ");
}
