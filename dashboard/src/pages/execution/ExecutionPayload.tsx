import type { Schemas } from "../../api/client";
import { Card } from "../../parts/Card";
import { JsonBlock } from "../../parts/CodeBlock";
import { TimeText } from "../../time/TimeText";
import { inputWords } from "./inputWords";

/** What the latest attempt ran with, also when the job was edited since. */
export function ExecutionPayload({ input }: { input: Schemas["ExecutionInput"] }) {
  const words = inputWords(input);
  return (
    <Card title="Payload">
      {words && (
        <p>
          {words}
          {input.given_at && (
            <>
              {" "}
              <TimeText at={input.given_at} />
            </>
          )}
        </p>
      )}
      {input.is_kept && (input.payload === null ? "It has none." : <JsonBlock value={input.payload} what="the payload" />)}
    </Card>
  );
}
