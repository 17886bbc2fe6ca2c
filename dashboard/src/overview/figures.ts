/** "1,284 executions", "1 execution" */
export function count(value: number, noun: string): string {
  return `${value.toLocaleString("en")} ${noun}${value === 1 ? "" : "s"}`;
}

/** A count that ended at a limit says so. */
export function atLeast(value: number, exact: boolean): string {
  return exact ? value.toLocaleString("en") : `more than ${value.toLocaleString("en")}`;
}

/** "99.2 %"; never 100 % while something failed. */
export function share(value: number): string {
  if (value === 1) return "100 %";
  const percent = Math.floor(value * 1000) / 10;
  return `${percent.toFixed(1)} %`;
}

/** The busiest of some steps, if one stands out: at least twice the average. */
export function standsOut<Step extends { count: number }>(steps: readonly Step[]): Step | undefined {
  const sum = steps.reduce((total, step) => total + step.count, 0);
  const busiest = steps.reduce<Step | undefined>((most, step) => (!most || step.count > most.count ? step : most), undefined);
  return busiest && busiest.count > 1 && busiest.count >= (2 * sum) / steps.length ? busiest : undefined;
}
