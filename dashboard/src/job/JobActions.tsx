import { Button } from "@mantine/core";
import { IconDotsVertical, IconPlayerPause, IconPlayerPlay, IconRefresh } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { useMay } from "../api/session";
import { DropDown, DropDownItem } from "../parts/DropDown";
import { type Job, useJobActions } from "./useJobActions";

const RunNowDialog = lazy(() => import("./RunNowDialog"));
const BackfillDialog = lazy(() => import("./BackfillDialog"));
const CancelJobDialog = lazy(() => import("./CancelJobDialog"));
const PurgeJobDialog = lazy(() => import("./PurgeJobDialog"));

const LIVING = new Set(["active", "paused"]);

/** The buttons of a job. Only what its status allows is there. */
export function JobActions({ job }: { job: Job }) {
  const actions = useJobActions(job);
  const navigate = useNavigate();
  const [dialog, setDialog] = useState<"run" | "backfill" | "cancel" | "purge" | null>(null);
  const mayPurge = useMay("admin");
  const lives = LIVING.has(job.status);
  const isRecurring = job.execution_id === null;
  const close = () => setDialog(null);
  return (
    <>
      {lives && (
        <Button leftSection={<IconPlayerPlay size={14} />} onClick={() => setDialog("run")}>
          Run now
        </Button>
      )}
      {job.status === "active" && (
        <Button variant="default" leftSection={<IconPlayerPause size={14} />} loading={actions.isBusy} onClick={actions.pause}>
          Pause
        </Button>
      )}
      {job.status === "paused" && (
        <Button variant="default" leftSection={<IconPlayerPlay size={14} />} loading={actions.isBusy} onClick={actions.resume}>
          Resume
        </Button>
      )}
      {(job.failures_in_a_row > 0 || job.status === "failed") && (
        <Button variant="default" leftSection={<IconRefresh size={14} />} loading={actions.isBusy} onClick={actions.retry}>
          Retry the failure
        </Button>
      )}
      <DropDown label="More actions" face={<IconDotsVertical size={16} />}>
        {(hide) => {
          const item = (words: string, act: () => void) => (
            <DropDownItem
              onClick={() => {
                hide();
                act();
              }}
            >
              {words}
            </DropDownItem>
          );
          return (
            <>
              {lives && item("Edit", () => void navigate({ to: "/jobs/$id", params: { id: job.id }, search: { tab: "edit" } }))}
              {item("Copy to a new job", () => void navigate({ to: "/jobs/new", search: { copy: job.id } }))}
              {isRecurring && lives && item("Backfill a past range", () => setDialog("backfill"))}
              {(lives || job.running > 0) && item("Cancel the job", () => setDialog("cancel"))}
              {mayPurge && item("Delete for good", () => setDialog("purge"))}
            </>
          );
        }}
      </DropDown>
      <Suspense>
        {dialog === "run" && <RunNowDialog job={job} onClose={close} onRun={actions.run} />}
        {dialog === "backfill" && <BackfillDialog job={job} onClose={close} />}
        {dialog === "cancel" && <CancelJobDialog job={job} onClose={close} onCancel={actions.cancel} />}
        {dialog === "purge" && <PurgeJobDialog job={job} onClose={close} />}
      </Suspense>
    </>
  );
}
