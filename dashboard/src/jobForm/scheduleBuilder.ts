/** The schedule builder: choices that are written as text. The text is the truth; what it cannot read is left as it is. */
export type BuilderMode = "now" | "every" | "daily" | "weekly" | "monthly" | "cron" | "once";

export interface BuilderChoices {
  amount: string;
  unit: "s" | "m" | "h" | "d";
  /** "09:00" */
  time: string;
  /** 1 is Monday. */
  weekdays: number[];
  /** "1" to "31", or "last" */
  monthDay: string;
  cron: string;
  /** "2026-12-01T09:00" in the zone of the job */
  at: string;
}

export const FIRST_CHOICES: BuilderChoices = {
  amount: "5", unit: "m", time: "09:00", weekdays: [1], monthDay: "1", cron: "0 9 * * 1-5", at: "",
};

export const WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] as const;

export function scheduleFor(mode: BuilderMode, choices: BuilderChoices): string {
  switch (mode) {
    case "now":
      return "";
    case "every":
      return `every ${choices.amount}${choices.unit}`;
    case "daily":
      return `every day at ${choices.time}`;
    case "weekly":
      return `every ${weekdayWords(choices.weekdays)} at ${choices.time}`;
    case "monthly":
      return choices.monthDay === "last"
        ? `on the last day of every month at ${choices.time}`
        : `every month on the ${ordinal(Number(choices.monthDay))} at ${choices.time}`;
    case "cron":
      return choices.cron;
    case "once":
      return choices.at;
  }
}

/** The mode and the choices that a text was built from; null where it is free text. */
export function readSchedule(text: string): { mode: BuilderMode; choices: Partial<BuilderChoices> } | null {
  const words = text.trim().toLowerCase();
  if (words === "") return { mode: "now", choices: {} };
  return readEvery(words) ?? readDaily(words) ?? readWeekly(words) ?? readMonthly(words) ?? readOnce(text.trim()) ?? readCron(text.trim());
}

type Read = { mode: BuilderMode; choices: Partial<BuilderChoices> } | null;

function readEvery(words: string): Read {
  const found = /^every (\d+) ?([smhd])$/.exec(words);
  return found ? { mode: "every", choices: { amount: found[1] ?? "", unit: found[2] as BuilderChoices["unit"] } } : null;
}

function readDaily(words: string): Read {
  const found = /^every day at (\d\d:\d\d)$/.exec(words);
  return found ? { mode: "daily", choices: { time: found[1] ?? "" } } : null;
}

function readWeekly(words: string): Read {
  const found = /^every ([a-z, ]+) at (\d\d:\d\d)$/.exec(words);
  if (!found) return null;
  const names = (found[1] ?? "").split(/, | and /);
  if (names.length === 1 && names[0] === "weekday") return { mode: "weekly", choices: { weekdays: [1, 2, 3, 4, 5], time: found[2] ?? "" } };
  const weekdays = names.map((name) => (WEEKDAYS as readonly string[]).indexOf(name) + 1);
  return weekdays.includes(0) ? null : { mode: "weekly", choices: { weekdays, time: found[2] ?? "" } };
}

function readMonthly(words: string): Read {
  const last = /^on the last day of every month at (\d\d:\d\d)$/.exec(words);
  if (last) return { mode: "monthly", choices: { monthDay: "last", time: last[1] ?? "" } };
  const found = /^every month on the (\d+)(?:st|nd|rd|th) at (\d\d:\d\d)$/.exec(words);
  return found ? { mode: "monthly", choices: { monthDay: found[1] ?? "1", time: found[2] ?? "" } } : null;
}

function readOnce(text: string): Read {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text) ? { mode: "once", choices: { at: text } } : null;
}

function readCron(text: string): Read {
  const fields = text.split(/\s+/);
  const isCron = fields.length >= 5 && fields.length <= 7 && fields.every((field) => /^[\d*/,\-?#LWA-Za-z]+$/.test(field)) && /^[\d*]/.test(text);
  return isCron ? { mode: "cron", choices: { cron: text } } : null;
}

function weekdayWords(weekdays: readonly number[]): string {
  const chosen = weekdays.toSorted((one, other) => one - other);
  if (chosen.length === 0 || chosen.length === 7) return "day";
  if (chosen.join("") === "12345") return "weekday";
  const names = chosen.map((day) => WEEKDAYS[day - 1] ?? "monday");
  return names.length === 1 ? (names[0] ?? "") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

export function ordinal(day: number): string {
  const tens = day % 100;
  if (tens >= 11 && tens <= 13) return `${day}th`;
  return `${day}${{ 1: "st", 2: "nd", 3: "rd" }[day % 10] ?? "th"}`;
}
