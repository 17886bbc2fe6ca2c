const MOMENT = 10_000; // milliseconds: making a message takes a moment

/** Whether a notification waits although it is due. */
export function waitsAlthoughDue(dueAt: string, now: Date): boolean {
  return Date.parse(dueAt) < now.getTime() - MOMENT;
}

export const WHY_IT_WAITS = "It is due, and waits: for the message before it to be delivered, for the quiet hours to end,\nor for the channel to be resumed";
