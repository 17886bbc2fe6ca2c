import { readSetting, writeSetting } from "../parts/localSettings";
import { createStore, useStore } from "../parts/store";

/** Which zone times are shown in: the viewer's, UTC, or each job's own. */
export type ZoneMode = "mine" | "utc" | "job";

export const MY_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

const mode = createStore(readSetting<ZoneMode>("zone", "mine"));

export function setZoneMode(chosen: ZoneMode): void {
  mode.set(chosen);
  writeSetting("zone", chosen);
}

export function useZoneMode(): ZoneMode {
  return useStore(mode);
}

/** The zone to show a time in; `jobZone` is that of the job which it belongs to, if any. */
export function useZone(jobZone?: string | null): string {
  return zoneFor(useZoneMode(), jobZone);
}

export function zoneFor(chosen: ZoneMode, jobZone?: string | null): string {
  if (chosen === "utc") return "UTC";
  return (chosen === "job" && jobZone) || MY_ZONE;
}
