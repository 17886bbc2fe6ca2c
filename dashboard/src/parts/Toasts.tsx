import { ActionIcon, Button } from "@mantine/core";
import { IconAlertTriangle, IconCheck, IconX } from "@tabler/icons-react";
import { useStore } from "./store";
import classes from "./Toasts.module.css";
import { hideToast, type Toast, toastProblem, toasts } from "./toast";

/** What was said, at the lower edge. Screen readers hear it, too. */
export function Toasts() {
  return (
    <div className={classes.toasts} role="log" aria-label="Messages">
      {useStore(toasts).map((each) => (
        <ToastBox key={each.id} toast={each} />
      ))}
    </div>
  );
}

function ToastBox({ toast }: { toast: Toast }) {
  const undo = () => {
    hideToast(toast.id);
    void Promise.resolve(toast.undo?.()).catch(toastProblem);
  };
  return (
    <div className={classes.toast} data-problem={toast.isProblem}>
      {toast.isProblem ? <IconAlertTriangle size={16} aria-hidden /> : <IconCheck size={16} aria-hidden />}
      <div className={classes.words}>
        {toast.title && <strong>{toast.title}</strong>}
        <span>{toast.message}</span>
      </div>
      {toast.undo && (
        <Button size="compact-xs" variant="default" onClick={undo}>
          Undo
        </Button>
      )}
      <ActionIcon size={24} aria-label="Close the message" onClick={() => hideToast(toast.id)}>
        <IconX size={14} />
      </ActionIcon>
    </div>
  );
}
