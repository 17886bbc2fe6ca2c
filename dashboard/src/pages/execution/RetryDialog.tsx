import { Button, Group, Modal, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api, type Schemas } from "../../api/client";
import { fieldErrorsOf } from "../../jobForm/fieldErrors";
import { readJson } from "../../jobForm/jobDraft";
import { PayloadField } from "../../jobForm/PayloadField";
import { useTasks } from "../../jobForm/useTasks";
import { Problem } from "../../parts/Problem";
import { toast } from "../../parts/toast";

interface RetryDialogProps {
  execution: Schemas["ExecutionView"];
  input: Schemas["ExecutionInput"];
  onClose: () => void;
}

/** Runs an execution again with another payload. The payload of its job stays as it is. */
export default function RetryDialog({ execution, input, onClose }: RetryDialogProps) {
  const queries = useQueryClient();
  const [payload, setPayload] = useState(JSON.stringify(input.payload, null, 2));
  const tasks = useTasks();
  const schema = tasks.data?.find(({ name }) => name === input.task)?.parameters ?? null;
  const retry = useMutation({
    mutationFn: () =>
      answer(
        api.POST("/v1/executions/{id}/retry", {
          params: { path: { id: execution.id } },
          body: { payload: payload.trim() ? readJson("payload", payload) : {} } as never,
        }),
      ),
    onSuccess: () => {
      toast("It is tried again with this payload");
      onClose();
      return queries.invalidateQueries({ queryKey: ["executions"] });
    },
  });
  return (
    <Modal opened onClose={onClose} title="Retry with another payload" size="lg" closeButtonProps={{ "aria-label": "Close" }}>
      <Text mb="md">
        The same execution runs again, and its new attempts get this payload. The payload of the job stays as it is. The events say who changed what.
      </Text>
      <PayloadField label="Payload" schema={schema} value={payload} onChange={setPayload} errors={fieldErrorsOf(retry.error)} />
      {Boolean(retry.error) && <Problem error={retry.error} />}
      <Group justify="flex-end" mt="lg" gap="sm">
        <Button variant="default" onClick={onClose}>
          Keep things as they are
        </Button>
        <Button loading={retry.isPending} onClick={() => retry.mutate()} data-autofocus>
          Retry with this payload
        </Button>
      </Group>
    </Modal>
  );
}
