import { expect, test } from "vitest";
import { pingLines } from "./pingUrl";

const crontabLine = (schedule: Record<string, unknown>) => pingLines("https://t/ping/x", schedule)[0]?.code;

test("the line for a crontab has the schedule of the ping, if that is one for cron", () => {
  expect(crontabLine({ cron: "17 * * * *" })).toBe("17 * * * *  backup.sh; curl -fsS -m 10 --retry 5 https://t/ping/x/$?");
  expect(crontabLine({ every: 3600 })).toMatch(/^0 2 \* \* \* {2}backup/);
});
