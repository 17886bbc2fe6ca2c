import { ActionIcon } from "@mantine/core";
import { IconAlertTriangle, IconCheck, IconCopy } from "@tabler/icons-react";
import { useEffect, useState } from "react";
import { copyText } from "./copyText";

type Outcome = "copied" | "refused" | null;

/** Copies a text, on plain HTTP too. `what` names it: "the command". */
export function CopyButton({ text, what }: { text: string; what: string }) {
  const [outcome, setOutcome] = useState<Outcome>(null);
  useEffect(() => {
    if (outcome === null) return undefined;
    const timer = setTimeout(() => setOutcome(null), 1500);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = async () => setOutcome((await copyText(text)) ? "copied" : "refused");
  const label = `Copy ${what}`;
  return (
    <ActionIcon aria-label={label} data-tip={label} onClick={() => void copy()} size={24}>
      {FACES[outcome ?? "none"]}
      <output className="visually-hidden">{WORDS[outcome ?? "none"]}</output>
    </ActionIcon>
  );
}

const FACES = {
  none: <IconCopy size={14} />,
  copied: <IconCheck size={14} />,
  refused: <IconAlertTriangle size={14} />,
};

const WORDS = { none: "", copied: "Copied", refused: "The browser refused. Select the text and copy it by hand." };
