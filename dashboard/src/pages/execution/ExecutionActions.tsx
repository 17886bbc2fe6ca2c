import { Button } from "@mantine/core";
import { IconPencil, IconPlayerStop, IconRefresh, IconTerminal2 } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { answer, api, basePath, type Schemas } from "../../api/client";
import { useMay } from "../../api/session";
import { confirm } from "../../parts/confirm";
import { copyText } from "../../parts/copyText";
import { DropDown, DropDownItem } from "../../parts/DropDown";
import { toast, toastProblem } from "../../parts/toast";

type Execution = Schemas["ExecutionView"];
type Input = Schemas["ExecutionInput"];

const RetryDialog = lazy(() => import("./RetryDialog"));

const RETRIED = new Set(["failed", "cancelled"]);

/** What one can do with an execution: as far as its state and the key allow it. */
export function ExecutionActions({ execution, jobName, input }: { execution: Execution; jobName: string; input: Input | undefined }) {
  const may = useMay("write");
  const isOpen = execution.status === "pending" || execution.status === "running";
  return (
    <>
      <CopyAs execution={execution} />
      {may && RETRIED.has(execution.status) && <Retry execution={execution} />}
      {may && RETRIED.has(execution.status) && input && <EditAndRetry execution={execution} input={input} />}
      {may && isOpen && <Cancel execution={execution} jobName={jobName} />}
    </>
  );
}

function useAct(done: string, act: (id: string) => Promise<unknown>) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: act,
    onSuccess: () => {
      toast(done);
      return queries.invalidateQueries({ queryKey: ["executions"] });
    },
    onError: toastProblem,
  });
}

function Retry({ execution }: { execution: Execution }) {
  const retry = useAct("It is tried again", (id) => answer(api.POST("/v1/executions/{id}/retry", { params: { path: { id } } })));
  return (
    <Button leftSection={<IconRefresh size={14} />} loading={retry.isPending} onClick={() => retry.mutate(execution.id)}>
      Retry
    </Button>
  );
}

function EditAndRetry({ execution, input }: { execution: Execution; input: Input }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button variant="default" leftSection={<IconPencil size={14} />} onClick={() => setOpen(true)}>
        Edit and retry
      </Button>
      <Suspense>{isOpen && <RetryDialog execution={execution} input={input} onClose={() => setOpen(false)} />}</Suspense>
    </>
  );
}

function Cancel({ execution, jobName }: { execution: Execution; jobName: string }) {
  const cancel = useAct("It is cancelled", (id) => answer(api.POST("/v1/executions/{id}/cancel", { params: { path: { id } } })));
  const ask = async () => {
    const isRunning = execution.status === "running";
    const yes = await confirm({
      title: `Cancel ${execution.id}?`,
      effect: isRunning
        ? `This execution of ${jobName} is running. The worker is told to stop it, and it is not tried again. The job itself goes on as scheduled.`
        : `This execution of ${jobName} will not run. The job itself goes on as scheduled.`,
      action: "Cancel the execution",
      danger: true,
    });
    if (yes) cancel.mutate(execution.id);
  };
  return (
    <Button color="red" variant="light" leftSection={<IconPlayerStop size={14} />} loading={cancel.isPending} onClick={() => void ask()}>
      Cancel
    </Button>
  );
}

function CopyAs({ execution }: { execution: Execution }) {
  const url = `${location.origin}${basePath}/v1/executions/${execution.id}`;
  const forms: [string, string][] = [
    ["Copy as a command", `tickwork execution get ${execution.id}`],
    ["Copy the command for its log", `tickwork execution logs ${execution.id} --follow`],
    ["Copy as curl", `curl -H "Authorization: Bearer $TICKWORK_API_KEY" ${url}`],
    ["Copy the link to this page", location.href],
    ["Copy the id", execution.id],
  ];
  return (
    <DropDown label="Copy as" face={<IconTerminal2 size={16} />}>
      {(close) =>
        forms.map(([label, text]) => (
          <DropDownItem
            key={label}
            onClick={() => {
              void copyText(text).then((copied) => toast(copied ? "Copied" : "The browser refused to copy"));
              close();
            }}
          >
            {label}
          </DropDownItem>
        ))
      }
    </DropDown>
  );
}
