import { SegmentedControl } from "@mantine/core";
import { useState } from "react";
import { basePath } from "../api/client";
import { CodeBlock } from "../parts/CodeBlock";
import { readSetting, writeSetting } from "../parts/localSettings";
import { DraftError, type JobDraft, requestOf } from "./jobDraft";
import classes from "./JobForm.module.css";
import { SNIPPETS, type SnippetKind, snippetOf } from "./jobSnippets";

/** The same job as a command, a request, a program and a file. */
export function Snippets({ draft }: { draft: JobDraft }) {
  const [kind, setKind] = useState<SnippetKind>(() => readSetting("snippet", "CLI"));
  const choose = (chosen: SnippetKind) => {
    setKind(chosen);
    writeSetting("snippet", chosen);
  };
  return (
    <>
      <SegmentedControl aria-label="Notation" data={[...SNIPPETS]} value={kind} onChange={(value) => choose(value as SnippetKind)} mb={8} />
      <Code draft={draft} kind={kind} />
    </>
  );
}

function Code({ draft, kind }: { draft: JobDraft; kind: SnippetKind }) {
  const code = codeOf(draft, kind);
  if (code instanceof DraftError) return <p className={classes.hint}>{`${code.path} ${code.message}`}</p>;
  return <CodeBlock code={code} what="the job" wrap maxHeight={420} />;
}

function codeOf(draft: JobDraft, kind: SnippetKind): string | DraftError {
  try {
    return snippetOf(kind, requestOf(draft), `${location.origin}${basePath}`);
  } catch (error) {
    if (error instanceof DraftError) return error;
    throw error;
  }
}
