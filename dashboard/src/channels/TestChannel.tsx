import { Button } from "@mantine/core";
import { IconSend } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { answer, api, type Schemas } from "../api/client";
import { CodeBlock, JsonBlock } from "../parts/CodeBlock";
import { Problem } from "../parts/Problem";
import { CHANNEL_LOOKS } from "../parts/states";
import { StateBadge } from "../parts/StatusBadge";
import { Duration } from "../time/Duration";
import classes from "./Channels.module.css";

/** Sends a message that says that it is a test, and shows what the receiver answered. */
export function TestChannel({ name }: { name: string }) {
  const test = useMutation({ mutationFn: () => answer(api.POST("/v1/channels/{name}/test", { params: { path: { name } } })) });
  return (
    <>
      <p className={classes.note}>Sends a message at once that says that it is a test, whatever the channel’s rules are.</p>
      <Button variant="default" leftSection={<IconSend size={14} />} loading={test.isPending} onClick={() => test.mutate()}>
        Send a test
      </Button>
      {Boolean(test.error) && <Problem error={test.error} />}
      {test.data && <Result test={test.data} />}
    </>
  );
}

function Result({ test }: { test: Schemas["ChannelTest"] }) {
  return (
    <div role="status" aria-label="Result of the test">
      <div className={classes.result}>
        <StateBadge look={test.delivered ? { ...CHANNEL_LOOKS.ok, word: "Delivered" } : { ...CHANNEL_LOOKS.failing, word: "Not delivered" }} />
        <span>
          took <Duration seconds={test.took} />
        </span>
      </div>
      {test.error && <CodeBlock code={`${test.error.type}: ${test.error.message}`} what="the error" wrap maxHeight={160} />}
      {test.answer !== null && test.answer !== undefined && <JsonBlock value={test.answer} what="the answer" maxHeight={200} />}
    </div>
  );
}
