import { wallClock } from "../time/wallClock";

export interface Tick {
  at: number;
  /** "14:00", or at midnight "17 Nov". */
  word: string;
  isDay: boolean;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const STEPS = [MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, 24 * HOUR];

/** Round times of the zone, about as many as fit. */
export function timeTicks(from: number, until: number, zone: string, most: number): Tick[] {
  const step = STEPS.find((each) => (until - from) / each <= most) ?? 7 * 24 * HOUR;
  const ticks: Tick[] = [];
  const smallest = Math.min(step, 30 * MINUTE); // zones differ from UTC by whole half hours, nearly all
  for (let at = Math.ceil(from / smallest) * smallest; at < until; at += smallest) {
    const { hour, minute, day, month } = wallClock(at, zone);
    const sinceMidnight = hour * HOUR + minute * MINUTE;
    if (sinceMidnight % Math.min(step, 24 * HOUR) !== 0) continue;
    const isDay = sinceMidnight === 0;
    ticks.push({ at, isDay, word: isDay ? `${day} ${MONTHS[month - 1]}` : `${pad(hour)}:${pad(minute)}` });
  }
  return step > 24 * HOUR ? ticks.filter((_, place) => place % 7 === 0) : ticks;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

function pad(value: number): string {
  return String(value).padStart(2, "0");
}
