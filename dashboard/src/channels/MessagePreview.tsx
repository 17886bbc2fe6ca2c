import type { Schemas } from "../api/client";
import { JsonBlock } from "../parts/CodeBlock";
import classes from "./MessagePreview.module.css";

/** A message as somebody reads it, and what is sent for it. */
export function MessagePreview({ content, severity = "error" }: { content: Schemas["ChannelPreview"]; severity?: string }) {
  return (
    <>
      <div className={classes.message} data-severity={severity} aria-label="The message" role="group">
        <strong className={classes.title}>{content.title}</strong>
        <div className={classes.body}>{content.body}</div>
      </div>
      <details className={classes.sent}>
        <summary>What is sent</summary>
        <JsonBlock value={content.sent} what="what is sent" maxHeight={360} />
      </details>
    </>
  );
}
