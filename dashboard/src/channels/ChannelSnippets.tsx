import { SegmentedControl } from "@mantine/core";
import { useState } from "react";
import { basePath } from "../api/client";
import { DraftError } from "../jobForm/jobDraft";
import { CodeBlock } from "../parts/CodeBlock";
import { type ChannelDraft, channelRequestOf } from "./channelDraft";
import { CHANNEL_SNIPPETS, type ChannelSnippetKind, channelSnippetOf } from "./channelSnippets";
import classes from "./Channels.module.css";

/** The same channel as a command and as a request, without its secrets. */
export function ChannelSnippets({ draft }: { draft: ChannelDraft }) {
  const [kind, setKind] = useState<ChannelSnippetKind>("CLI");
  const code = codeOf(draft, kind);
  return (
    <>
      <SegmentedControl aria-label="Notation" data={[...CHANNEL_SNIPPETS]} value={kind} onChange={(value) => setKind(value as ChannelSnippetKind)} mb={8} />
      {code instanceof DraftError ? <p className={classes.note}>{`${code.path} ${code.message}`}</p> : <CodeBlock code={code} what="the channel" wrap />}
    </>
  );
}

function codeOf(draft: ChannelDraft, kind: ChannelSnippetKind): string | DraftError {
  try {
    return channelSnippetOf(kind, draft.name.trim(), channelRequestOf(draft), `${location.origin}${basePath}`);
  } catch (error) {
    if (error instanceof DraftError) return error;
    throw error;
  }
}
