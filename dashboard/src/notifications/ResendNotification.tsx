import { Button } from "@mantine/core";
import { IconSend } from "@tabler/icons-react";
import { answer, api } from "../api/client";
import { useAction } from "../parts/useAction";
import type { Notification } from "./notificationColumns";

/** Sends its message again, with the same id. What waits or is on its way has none to send again. */
export function ResendNotification({ notification }: { notification: Notification }) {
  const { id, channel, status, message_id } = notification;
  const sending = useAction({
    act: () => answer(api.POST("/v1/notifications/{id}/resend", { params: { path: { id } } })),
    done: () => `It is sent to ${channel} again`,
    changes: ["notifications", "channels"],
  });
  if (!message_id || status === "sending") return null;
  return (
    <Button variant="default" leftSection={<IconSend size={14} />} loading={sending.isPending} onClick={() => sending.mutate(undefined)} data-tip="With the same id, by which a receiver knows it again">
      Resend
    </Button>
  );
}
