import { MY_ZONE } from "../time/zone";

/** All zones that the browser knows, the viewer's own and UTC first. */
export const ZONES: string[] = [...new Set([MY_ZONE, "UTC", ...Intl.supportedValuesOf("timeZone")])];
