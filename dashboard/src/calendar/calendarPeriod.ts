import { wallClock } from "../time/wallClock";

export type Scale = "month" | "year";

export interface Period {
  scale: Scale;
  year: number;
  /** From 1; of a year it is 1. */
  month: number;
}

/** From the address: `from=2026-11` or `from=2026`; the current one if it says nothing that can be read. */
export function periodOf(scale: string | undefined, from: string | undefined, now: number, zone: string): Period {
  const wanted: Scale = scale === "year" ? "year" : "month";
  const [, year, month] = /^(\d{4})(?:-(0[1-9]|1[0-2]))?$/.exec(from ?? "") ?? [];
  const today = wallClock(now, zone);
  if (!year) return { scale: wanted, year: today.year, month: wanted === "year" ? 1 : today.month };
  return { scale: wanted, year: Number(year), month: wanted === "year" ? 1 : Number(month ?? 1) };
}

/** How the address tells a period. */
export function periodText({ scale, year, month }: Period): string {
  return scale === "year" ? String(year) : `${year}-${String(month).padStart(2, "0")}`;
}

export function moved({ scale, year, month }: Period, by: number): Period {
  if (scale === "year") return { scale, year: year + by, month: 1 };
  const months = year * 12 + month - 1 + by;
  return { scale, year: Math.floor(months / 12), month: (months % 12) + 1 };
}

const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];

export function periodWords({ scale, year, month }: Period): string {
  return scale === "year" ? String(year) : `${MONTHS[month - 1]} ${year}`;
}
