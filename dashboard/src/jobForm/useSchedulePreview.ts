import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { answer, api, type Schemas } from "../api/client";
import { MY_ZONE } from "../time/zone";
import { type JobDraft, scheduleFields } from "./jobDraft";
import { useLater } from "./useLater";

export type SchedulePreviewData = Schemas["Preview"];

/** What the server makes of the draft's schedule, a moment after the last key. Without a schedule there is nothing to ask. */
export function useSchedulePreview(draft: JobDraft, count = 8) {
  const fields = useLater(sendable(draft));
  return useQuery({
    queryKey: ["schedules", "preview", fields, count],
    queryFn: () => answer(api.POST("/v1/schedules/preview", { body: { ...fields, count, viewer_timezone: MY_ZONE } as never })),
    enabled: fields !== null,
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    retry: false,
  });
}

function sendable(draft: JobDraft): Record<string, unknown> | null {
  try {
    const fields = scheduleFields(draft);
    return "schedule" in fields ? fields : null;
  } catch {
    return null;
  }
}
