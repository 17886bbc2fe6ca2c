import { EventParser } from "./eventParser";

export type LiveStatus = "live" | "connecting" | "paused" | "stale" | "offline";

export interface LiveState {
  status: LiveStatus;
  /** When what is shown was last known to be current, in milliseconds. */
  freshAt: number;
}

export interface LiveEvent {
  id?: number | null;
  kind: string;
  at: string;
  job_id?: string | null;
  execution_id?: string | null;
  [field: string]: unknown;
}

export type Connect = (lastEventId: string | null, signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>;

const SILENCE = 40_000; // the server sends something at least every 15 seconds
const OFFLINE_AFTER = 60_000;
const FIRST_WAIT = 1_000;
const LONGEST_WAIT = 15_000;

/** One connection to the events of the API: it reconnects where it stopped, rests while told to, and knows how old the
 * figures on the page are. */
export class LiveStream {
  private state: LiveState = { status: "connecting", freshAt: Date.now() };
  private readonly stateListeners = new Set<() => void>();
  private readonly eventListeners = new Set<(event: LiveEvent) => void>();
  private readonly openListeners = new Set<() => void>();
  private connection: AbortController | null = null;
  private lastEventId: string | null = null;
  private wanted = false;
  private hidden = false;
  private paused = false;
  private wait = FIRST_WAIT;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private silence: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly connect: Connect) {}

  getState = (): LiveState => this.state;

  subscribe = (listener: () => void): (() => void) => {
    this.stateListeners.add(listener);
    return () => this.stateListeners.delete(listener);
  };

  onEvent(listener: (event: LiveEvent) => void): () => void {
    this.eventListeners.add(listener);
    return () => this.eventListeners.delete(listener);
  }

  /** Told after every (re)connection: what happened in between may have been missed by live-only events. */
  onOpen(listener: () => void): () => void {
    this.openListeners.add(listener);
    return () => this.openListeners.delete(listener);
  }

  start(): void {
    this.wanted = true;
    this.update();
  }

  stop(): void {
    this.wanted = false;
    this.update();
  }

  setHidden(hidden: boolean): void {
    this.hidden = hidden;
    this.update();
  }

  setPaused(paused: boolean): void {
    this.paused = paused;
    if (paused) this.show("paused");
    this.update();
  }

  /** To be called now and then: time alone turns stale into offline. */
  checkAge(): void {
    if (this.state.status === "stale" && Date.now() - this.state.freshAt > OFFLINE_AFTER) this.show("offline");
  }

  private update(): void {
    const shouldRun = this.wanted && !this.hidden && !this.paused;
    if (shouldRun && !this.connection) void this.run();
    else if (!shouldRun) this.disconnect();
  }

  private disconnect(): void {
    clearTimeout(this.timer);
    clearTimeout(this.silence);
    this.connection?.abort();
    this.connection = null;
  }

  private async run(): Promise<void> {
    const connection = new AbortController();
    this.connection = connection;
    try {
      const stream = await this.connect(this.lastEventId, connection.signal);
      this.wait = FIRST_WAIT;
      this.heard();
      for (const listener of this.openListeners) listener();
      await this.read(stream.getReader());
    } catch {
      // it ends in one way: below
    }
    if (this.connection === connection) this.reconnectLater();
  }

  private async read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    const parser = new EventParser();
    for (;;) {
      // eslint-disable-next-line no-await-in-loop -- a stream is read piece by piece
      const { done, value } = await reader.read();
      if (done) return;
      this.heard();
      for (const event of parser.push(decoder.decode(value, { stream: true }))) {
        if (event.id) this.lastEventId = event.id;
        if (event.data) this.tell(JSON.parse(event.data) as LiveEvent);
      }
    }
  }

  private heard(): void {
    this.state = { ...this.state, freshAt: Date.now() };
    this.show("live");
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.connection?.abort(), SILENCE);
  }

  private reconnectLater(): void {
    this.disconnect();
    this.show(navigator.onLine && Date.now() - this.state.freshAt < OFFLINE_AFTER ? "stale" : "offline");
    this.timer = setTimeout(() => this.update(), this.wait);
    this.wait = Math.min(this.wait * 2, LONGEST_WAIT);
  }

  private tell(event: LiveEvent): void {
    for (const listener of this.eventListeners) listener(event);
  }

  private show(status: LiveStatus): void {
    if (this.paused && status !== "paused") return;
    if (status !== this.state.status) this.state = { ...this.state, status };
    for (const listener of this.stateListeners) listener();
  }
}
