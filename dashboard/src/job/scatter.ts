/** Durations over time, as points of a chart. */
export interface ScatterRun {
  id: string;
  status: string;
  started_at: string | null;
  finished_at: string | null;
}

export interface ScatterPoint {
  id: string;
  status: string;
  /** Seconds since 1970. */
  at: number;
  duration: number;
  x: number;
  y: number;
}

export interface Frame {
  left: number;
  top: number;
  width: number;
  height: number;
}

export interface Scatter {
  points: ScatterPoint[];
  from: number;
  until: number;
  /** Of the axis, ascending. */
  ticks: { value: number; y: number }[];
  yOf: (duration: number) => number;
}

const STEPS = [0.001, 0.01, 0.1, 1, 10, 60, 600, 3600, 36_000, 86_400, 864_000];
const FINE_STEPS = [...STEPS, 0.003, 0.03, 0.3, 3, 30, 180, 1800, 10_800].toSorted((one, other) => one - other);
const MOST_TICKS = 6;

/** The vertical axis is logarithmic: outliers are what one looks for, and they differ by magnitudes. */
export function scatterOf(runs: readonly ScatterRun[], frame: Frame): Scatter {
  const measured = runs.flatMap(({ id, status, started_at, finished_at }) => {
    if (!started_at || !finished_at) return [];
    const at = Date.parse(started_at) / 1000;
    return [{ id, status, at, duration: Math.max(0.001, Date.parse(finished_at) / 1000 - at) }];
  });
  const times = measured.map(({ at }) => at);
  const from = Math.min(...times);
  const until = Math.max(...times, from + 1);
  const low = largestBelow(Math.min(...measured.map(({ duration }) => duration)));
  const high = smallestAbove(Math.max(...measured.map(({ duration }) => duration)));
  const yOf = (duration: number) => {
    const share = (Math.log(duration) - Math.log(low)) / (Math.log(high) - Math.log(low));
    return frame.top + frame.height * (1 - Math.min(1, Math.max(0, share)));
  };
  const points = measured.map(({ id, status, at, duration }) => ({
    id,
    status,
    at,
    duration,
    x: frame.left + (frame.width * (at - from)) / (until - from),
    y: yOf(duration),
  }));
  const shown = (steps: readonly number[]) => steps.filter((value) => value >= low && value <= high);
  const fine = shown(FINE_STEPS);
  const ticks = (fine.length > MOST_TICKS ? shown(STEPS) : fine).map((value) => ({ value, y: yOf(value) }));
  return { points, from, until, ticks, yOf };
}

function largestBelow(value: number): number {
  return FINE_STEPS.findLast((step) => step <= value) ?? 0.001;
}

function smallestAbove(value: number): number {
  return FINE_STEPS.find((step) => step > value) ?? 864_000;
}
