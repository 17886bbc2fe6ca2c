import { Button, Group, Modal, Progress, Switch, TagsInput, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { request } from "../api/client";
import { ExecutionLink, JobLink } from "../parts/links";
import { Problem } from "../parts/Problem";
import { randomId } from "../parts/randomId";
import { type ActionWords, type BulkResource, counted } from "./actionWords";
import { type BulkChunk, type BulkFailure, type BulkProgress, type BulkTarget, NOT_BEGUN, runBulk } from "./bulkRun";
import classes from "./BulkDialog.module.css";

interface BulkDialogProps {
  resource: BulkResource;
  action: string;
  words: ActionWords;
  target: BulkTarget;
  meant: string;
  onClose: () => void;
  /** Something was changed. */
  onDone: () => void;
}

interface Count {
  matched: number;
  exact: boolean;
}

/** Counts, asks, acts with progress and a stop, and gives an account of what did not work. */
export default function BulkDialog({ resource, action, words, target, meant, onClose, onDone }: BulkDialogProps) {
  const path = `/v1/${resource}/bulk`;
  const [tags, setTags] = useState<string[]>([]);
  const [progress, setProgress] = useState<BulkProgress | null>(null);
  const stopped = useRef(false);
  const queries = useQueryClient();
  const [stop, setStop] = useState(false);
  const body = { action, ...(words.needsTags ? { tags } : {}), ...(words.canStopRunning && stop ? { running: "cancel" } : {}) };
  const count = useQuery({
    queryKey: ["bulk-count", resource, action, target],
    queryFn: () => request<Count>("POST", path, { action, ...(words.needsTags ? { tags: ["x"] } : {}), ...target, dry_run: true }),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const begin = async () => {
    const key = randomId(); // one for all requests, so that a repeated one runs no job twice
    setProgress(NOT_BEGUN);
    await runBulk(
      target,
      (part) => request<BulkChunk>("POST", path, { ...body, ...part }, { "idempotency-key": key }),
      setProgress,
      () => stopped.current,
    );
    void queries.invalidateQueries({ predicate: ({ queryKey }) => ["jobs", "job-count", "executions", "upcoming"].includes(String(queryKey[0])) });
  };
  const isRunning = progress?.state === "running";
  const close = () => {
    if (isRunning) return;
    if (progress) onDone();
    onClose();
  };
  return (
    <Modal opened onClose={close} title={`${words.verb}: ${meant}`} withCloseButton={!isRunning} closeButtonProps={{ "aria-label": "Close" }}>
      {progress === null ? (
        <>
          {Boolean(count.error) && <Problem error={count.error} onRetry={() => void count.refetch()} />}
          <Text aria-live="polite">
            {count.data ? <strong>{`${counted(resource, count.data.matched, count.data.exact)}.`}</strong> : `Counting the ${resource}.`} {words.effect}
          </Text>
          {words.needsTags && <TagsInput label="Tags" value={tags} onChange={setTags} maxTags={50} mt="sm" data-autofocus />}
          {words.canStopRunning && <Switch label="Also stop what runs of them" checked={stop} onChange={(event) => setStop(event.currentTarget.checked)} mt="sm" />}
          <Group justify="flex-end" mt="lg" gap="sm">
            <Button variant="default" onClick={close}>
              Keep things as they are
            </Button>
            <Button
              color={words.danger ? "red" : "tick"}
              disabled={!count.data || count.data.matched === 0 || (words.needsTags && tags.length === 0)}
              onClick={() => void begin()}
            >
              {count.data ? `${words.verb}: ${counted(resource, count.data.matched, count.data.exact)}` : words.verb}
            </Button>
          </Group>
        </>
      ) : (
        <Account
          resource={resource}
          progress={progress}
          total={count.data?.matched ?? 0}
          past={words.past}
          onStop={() => {
            stopped.current = true;
          }}
          onClose={close}
        />
      )}
    </Modal>
  );
}

interface AccountProps {
  resource: BulkResource;
  progress: BulkProgress;
  total: number;
  past: string;
  onStop: () => void;
  onClose: () => void;
}

const ENDS = { running: "", stopped: "Stopped. ", finished: "", broken: "It could not go on. " };

function Account({ resource, progress, total, past, onStop, onClose }: AccountProps) {
  const seen = progress.done + progress.failed.length;
  const isRunning = progress.state === "running";
  return (
    <>
      <Progress
        value={total > 0 ? Math.min(100, (100 * seen) / total) : 100}
        striped={isRunning}
        animated={isRunning}
        aria-label={`${seen} of ${total}`}
      />
      <Text mt="sm" role="status">
        {ENDS[progress.state]}
        {counted(resource, progress.done)} {past}
        {progress.failed.length > 0 && `, ${progress.failed.length.toLocaleString("en")} not`}
        {progress.state !== "finished" && total > seen && `, ${(total - seen).toLocaleString("en")} to go`}.
      </Text>
      {progress.state === "broken" && <Problem error={progress.error} />}
      {progress.failed.length > 0 && <Failures failed={progress.failed} />}
      <Group justify="flex-end" mt="lg">
        {isRunning ? (
          <Button variant="default" onClick={onStop}>
            Stop
          </Button>
        ) : (
          <Button onClick={onClose} data-autofocus>
            Close
          </Button>
        )}
      </Group>
    </>
  );
}

const SHOWN = 100;

function Failures({ failed }: { failed: BulkFailure[] }) {
  return (
    <ul className={classes.failures} aria-label="What did not work">
      {failed.slice(0, SHOWN).map(({ job_id, execution_id, title, detail }) => (
        <li key={job_id ?? execution_id}>
          {job_id && <JobLink job={{ id: job_id }} />}
          {execution_id && <ExecutionLink id={execution_id} />} {detail || title}
        </li>
      ))}
      {failed.length > SHOWN && <li>and {failed.length - SHOWN} more</li>}
    </ul>
  );
}
