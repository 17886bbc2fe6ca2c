import { useEffect, useState } from "react";
import { basePath } from "../../api/client";
import { EventParser } from "../../live/eventParser";
import { addLines, type LogLine } from "./logLines";

export interface ExecutionLogState {
  lines: readonly LogLine[];
  progress: { fraction: number; message: string | null } | null;
  /** "loading" until the first answer; "live" while lines may come; "broken" while it reconnects. */
  status: "loading" | "live" | "ended" | "broken";
  /** Whether more lines were left out, because the log is too long to show. */
  isCut: boolean;
}

const MOST_LINES = 100_000;
const GATHER = 100; // milliseconds between two drawings while lines pour in
const WAIT = 2_000; // before it connects again

const EMPTY: ExecutionLogState = { lines: [], progress: null, status: "loading", isCut: false };

/** The log of an execution from its first line on, as it is written, until the execution has ended. The caller has a key of
 * the execution, so that another one begins anew. */
export function useExecutionLog(id: string): ExecutionLogState {
  const [state, setState] = useState(EMPTY);
  useEffect(() => {
    const follower = new LogFollower(id, setState);
    void follower.run();
    return () => follower.stop();
  }, [id]);
  return state;
}

class LogFollower {
  private state = EMPTY;
  private gathered: LogLine[] = [];
  private lastEventId: string | null = null;
  private hasEnded = false;
  private readonly connection = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly id: string,
    private readonly tell: (state: ExecutionLogState) => void,
  ) {}

  async run(): Promise<void> {
    while (!this.hasEnded && !this.connection.signal.aborted) {
      try {
        // eslint-disable-next-line no-await-in-loop -- one connection after the other
        await this.follow();
      } catch {
        // it ends in one way: below
      }
      if (this.hasEnded || this.connection.signal.aborted) break;
      this.show({ status: "broken" });
      // eslint-disable-next-line no-await-in-loop -- as above
      await new Promise((resolve) => setTimeout(resolve, WAIT));
    }
    this.flush();
  }

  stop(): void {
    this.connection.abort();
    clearTimeout(this.timer);
  }

  private async follow(): Promise<void> {
    const response = await fetch(`${basePath}/v1/executions/${encodeURIComponent(this.id)}/logs?follow=true`, {
      signal: this.connection.signal,
      credentials: "same-origin",
      headers: { accept: "text/event-stream", ...(this.lastEventId ? { "last-event-id": this.lastEventId } : {}) },
    });
    if (!response.ok || !response.body) throw new Error(`the log was refused: ${response.status}`);
    this.show({ status: "live" });
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    const parser = new EventParser();
    for (;;) {
      // eslint-disable-next-line no-await-in-loop -- a stream is read piece by piece
      const { done, value } = await reader.read();
      if (done) return;
      for (const event of parser.push(decoder.decode(value, { stream: true }))) {
        if (event.id) this.lastEventId = event.id;
        this.take(event.name, event.data);
      }
    }
  }

  private take(name: string, data: string): void {
    if (name === "log") this.gathered.push(JSON.parse(data) as LogLine);
    else if (name === "progress") this.state = { ...this.state, progress: JSON.parse(data) as ExecutionLogState["progress"] };
    else if (name === "end") {
      this.hasEnded = true;
      this.state = { ...this.state, status: "ended" };
    }
    this.timer ??= setTimeout(() => this.flush(), GATHER);
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const lines = addLines(this.state.lines, this.gathered);
    this.gathered = [];
    this.show({ lines: lines.slice(-MOST_LINES), isCut: this.state.isCut || lines.length > MOST_LINES });
  }

  private show(change: Partial<ExecutionLogState>): void {
    this.state = { ...this.state, ...change };
    if (!this.connection.signal.aborted) this.tell(this.state);
  }
}
