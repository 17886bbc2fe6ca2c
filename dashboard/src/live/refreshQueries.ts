import type { QueryClient } from "@tanstack/react-query";
import { affectedQueries } from "./affectedQueries";

const SHORTEST = 250; // milliseconds between two refreshes: at most four a second
const SHARE = 4; // a refresh that took long is followed by a rest of this many times as long

/** Refreshes what is shown after events: gathered, never two at once, and never more than the server can bear. */
export class QueryRefresher {
  private readonly old = new Set<string>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private running = false;

  constructor(private readonly client: QueryClient) {}

  add(kind: string): void {
    for (const word of affectedQueries(kind)) this.old.add(word);
    this.schedule(SHORTEST);
  }

  /** Everything that is shown is old, as after a time without connection. */
  addEverything(): void {
    void this.client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== "me" }, { cancelRefetch: false });
  }

  private schedule(wait: number): void {
    if (this.old.size > 0 && !this.running) this.timer ??= setTimeout(() => void this.flush(), wait);
  }

  private async flush(): Promise<void> {
    this.timer = undefined;
    this.running = true;
    const words = new Set(this.old);
    this.old.clear();
    const began = Date.now();
    const predicate = ({ queryKey }: { queryKey: readonly unknown[] }) => words.has(String(queryKey[0]));
    await this.client.invalidateQueries({ predicate }, { cancelRefetch: false }).catch(() => undefined);
    this.running = false;
    this.schedule(Math.max(SHORTEST, SHARE * (Date.now() - began)));
  }
}
