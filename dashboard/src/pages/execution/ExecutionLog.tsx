import { ActionIcon, Button, Select, TextInput } from "@mantine/core";
import { IconArrowDown, IconDownload, IconSearch } from "@tabler/icons-react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState } from "react";
import { Card } from "../../parts/Card";
import { CopyButton } from "../../parts/CopyButton";
import { clockTime } from "../../time/formatTime";
import { useZone } from "../../time/zone";
import classes from "./ExecutionLog.module.css";
import { asText, filterLines, LEVELS, type LogLine, weight } from "./logLines";
import type { ExecutionLogState } from "./useExecutionLog";

const LINE_HEIGHT = 20; // pixels
const NEAR = 40; // pixels from the end that still count as at the end

interface ExecutionLogProps {
  id: string;
  log: ExecutionLogState;
  attempts: number;
  jobZone?: string | null | undefined;
}

/** What the execution printed and logged: searched, filtered, and followed while it runs. */
export function ExecutionLog({ id, log, attempts, jobZone }: ExecutionLogProps) {
  const [text, setText] = useState("");
  const [level, setLevel] = useState<string | null>(null);
  const [attempt, setAttempt] = useState<string | null>(null);
  const lines = filterLines(log.lines, { text, level, attempt: attempt === null ? null : Number(attempt) });
  const isFiltered = lines !== log.lines;
  return (
    <Card
      title="Log"
      actions={
        <div className={classes.tools}>
          <TextInput
            aria-label="Find in the log"
            placeholder="Find in the log"
            leftSection={<IconSearch size={14} />}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            w={200}
          />
          <Select aria-label="Level" placeholder="All levels" data={LEVELS.map((each) => ({ value: each, label: `${each} and above` }))} value={level} onChange={setLevel} clearable w={150} />
          {attempts > 1 && (
            <Select
              aria-label="Attempt"
              placeholder="All attempts"
              data={Array.from({ length: attempts }, (_, place) => ({ value: String(place + 1), label: `Attempt ${place + 1}` }))}
              value={attempt}
              onChange={setAttempt}
              clearable
              w={130}
            />
          )}
          <CopyButton text={asText(lines)} what="these lines" />
          <ActionIcon aria-label="Download the log" data-tip="Download the log" size={24} onClick={() => download(`${id}.log`, asText(log.lines))}>
            <IconDownload size={14} />
          </ActionIcon>
        </div>
      }
    >
      {lines.length > 0 ? <Lines lines={lines} isLive={log.status === "live"} jobZone={jobZone} /> : <p className={classes.none}>{emptyWords(log, isFiltered)}</p>}
      <p className={classes.foot}>
        {isFiltered ? `${lines.length.toLocaleString()} of ${log.lines.length.toLocaleString()} lines` : `${log.lines.length.toLocaleString()} ${log.lines.length === 1 ? "line" : "lines"}`}
        {log.status === "live" && " · following"}
        {log.status === "broken" && " · the connection was lost; trying again"}
        {log.isCut && " · only the latest 100,000 are shown"}
      </p>
    </Card>
  );
}

function emptyWords(log: ExecutionLogState, isFiltered: boolean): string {
  if (isFiltered && log.lines.length > 0) return "No line matches.";
  if (log.status === "loading" || log.status === "broken") return "Loading …";
  return log.status === "live" ? "Nothing was logged yet. New lines appear here." : "Nothing was logged.";
}

function Lines({ lines, isLive, jobZone }: { lines: readonly LogLine[]; isLive: boolean; jobZone: string | null | undefined }) {
  const scroller = useRef<HTMLDivElement>(null);
  const zone = useZone(jobZone);
  const [follows, setFollows] = useState(true);
  const virtualizer = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE_HEIGHT,
    overscan: 30,
    initialRect: { width: 1000, height: 400 },
  });
  useEffect(() => {
    if (isLive && follows && lines.length) virtualizer.scrollToIndex(lines.length - 1, { align: "end" });
  }, [isLive, follows, lines.length, virtualizer]);
  const onScroll = () => {
    const box = scroller.current;
    if (box) setFollows(box.scrollHeight - box.scrollTop - box.clientHeight < NEAR);
  };
  return (
    <div className={classes.frame}>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard */}
      <div ref={scroller} className={classes.lines} onScroll={onScroll} tabIndex={0} role="log" aria-label="Log lines" aria-live="off">
        <div style={{ height: virtualizer.getTotalSize(), position: "relative" }}>
          {virtualizer.getVirtualItems().map((item) => {
            const line = lines[item.index];
            if (!line) return null;
            return (
              <div key={item.key} ref={virtualizer.measureElement} data-index={item.index} className={classes.line} data-weight={weight(line.level)} style={{ transform: `translateY(${item.start}px)` }}>
                <span className={classes.at}>{logTime(line.at, zone)}</span>
                <span className={classes.level}>{line.level}</span>
                <span className={classes.text}>{line.text}</span>
              </div>
            );
          })}
        </div>
      </div>
      {isLive && !follows && (
        <Button className={classes.down} size="compact-xs" leftSection={<IconArrowDown size={12} />} onClick={() => setFollows(true)}>
          Follow
        </Button>
      )}
    </div>
  );
}

function download(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

function logTime(at: string, zone: string): string {
  const time = new Date(at);
  return `${clockTime(time, zone, true)}.${String(time.getUTCMilliseconds()).padStart(3, "0")}`;
}
