import { expect, test } from "vitest";
import { pingLines } from "./pingUrl";

test("the line for a crontab has the schedule of the ping, if that is one for cron", () => {
  const line = (schedule: Record<string, unknown>) => pingLines("https://t/ping/x", schedule)[0]?.code;
  expect(line({ cron: "17 * * * *" })).toBe("17 * * * *  backup.sh; curl -fsS -m 10 --retry 5 https://t/ping/x/$?");
  expect(line({ every: 3600 })).toMatch(/^0 2 \* \* \* {2}backup/);
});
