import { expect, test } from "vitest";
import { channelLook } from "./channelState";

const NONE = { is_failing: false, sent: 0, failed: 0, sending: 0, waiting: 0, last_sent_at: null, error: null };

const word = (paused: boolean, deliveries: Partial<typeof NONE>) => channelLook({ paused, deliveries: { ...NONE, ...deliveries } }).word;

test("a channel is paused, failing, works, or has told nothing yet", () => {
  expect(word(true, { is_failing: true })).toBe("Paused");
  expect(word(false, { is_failing: true, sent: 3 })).toBe("Failing");
  expect(word(false, { sent: 3 })).toBe("Delivers");
  expect(word(false, {})).toBe("Told nothing yet");
});
