import type { Schemas } from "../api/client";
import { CHANNEL_LOOKS, type StateLook } from "../parts/states";

/** Paused comes first: while it is, nothing more can fail. */
export function channelLook({ paused, deliveries }: Pick<Schemas["ChannelView"], "paused" | "deliveries">): StateLook {
  if (paused) return CHANNEL_LOOKS.paused;
  if (deliveries.is_failing) return CHANNEL_LOOKS.failing;
  return deliveries.sent > 0 ? CHANNEL_LOOKS.ok : CHANNEL_LOOKS.unused;
}
