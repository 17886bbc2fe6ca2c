import {
  IconAffiliate,
  IconBellRinging,
  IconBolt,
  IconBriefcase,
  IconCalendarStats,
  IconCode,
  IconGauge,
  IconHeartbeat,
  IconHistory,
  IconKey,
  IconListDetails,
  IconMailX,
  IconRoute,
  IconSend,
  IconServer2,
  IconStack2,
  IconUsers,
} from "@tabler/icons-react";

export interface Destination {
  to: string;
  word: string;
  /** The key after g. */
  key: string;
  icon: typeof IconGauge;
  /** Which rail group it is in. */
  group: "work" | "notifications" | "machines" | "settings";
}

/** The pages of the rail, of the palette and of the go-to keys. */
export const DESTINATIONS: readonly Destination[] = [
  { to: "/", word: "Overview", key: "o", icon: IconGauge, group: "work" },
  { to: "/jobs", word: "Jobs", key: "j", icon: IconBriefcase, group: "work" },
  { to: "/executions", word: "Executions", key: "e", icon: IconListDetails, group: "work" },
  { to: "/calendar", word: "Calendar", key: "c", icon: IconCalendarStats, group: "work" },
  { to: "/workflows", word: "Workflows", key: "f", icon: IconAffiliate, group: "work" },
  { to: "/dead-letters", word: "Dead letters", key: "d", icon: IconMailX, group: "work" },
  { to: "/pings", word: "Pings", key: "p", icon: IconHeartbeat, group: "work" },
  { to: "/notifications", word: "Notifications", key: "t", icon: IconBellRinging, group: "notifications" },
  { to: "/notification-rules", word: "Notification rules", key: "r", icon: IconRoute, group: "notifications" },
  { to: "/channels", word: "Channels", key: "h", icon: IconSend, group: "notifications" },
  { to: "/queues", word: "Queues", key: "q", icon: IconStack2, group: "machines" },
  { to: "/workers", word: "Workers", key: "w", icon: IconUsers, group: "machines" },
  { to: "/tasks", word: "Tasks", key: "a", icon: IconCode, group: "machines" },
  { to: "/breakers", word: "Breakers", key: "b", icon: IconBolt, group: "machines" },
  { to: "/cluster", word: "Cluster", key: "n", icon: IconServer2, group: "machines" },
  { to: "/events", word: "Events", key: "v", icon: IconHistory, group: "machines" },
  { to: "/settings", word: "Keys and settings", key: "s", icon: IconKey, group: "settings" },
];
