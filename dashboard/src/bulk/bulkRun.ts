/** Acts on many jobs or executions, one request after the other, so that somebody can watch and stop it. */

/** Names a job or an execution. */
export interface BulkFailure {
  job_id?: string;
  execution_id?: string;
  title: string;
  detail: string;
}

export interface BulkChunk {
  done: number;
  failed: BulkFailure[];
  next_cursor?: string | null;
}

export interface BulkProgress {
  done: number;
  failed: BulkFailure[];
  state: "running" | "stopped" | "finished" | "broken";
  error: unknown;
}

export type BulkTarget = { ids: string[] } | { filter: Record<string, unknown> };

export const CHUNK = 200;
const KEPT_FAILURES = 1000; // the account names so many; the count goes on
export const NOT_BEGUN: BulkProgress = { done: 0, failed: [], state: "running", error: null };

/** Bodies of the requests: named ones are cut into parts, a filter goes on with the cursor of the last answer. */
export async function runBulk(
  target: BulkTarget,
  send: (body: object) => Promise<BulkChunk>,
  tell: (progress: BulkProgress) => void,
  isStopped: () => boolean,
): Promise<BulkProgress> {
  let progress = NOT_BEGUN;
  const add = (chunk: BulkChunk) => {
    progress = {
      ...progress,
      done: progress.done + chunk.done,
      failed: [...progress.failed, ...chunk.failed].slice(0, KEPT_FAILURES),
    };
    tell(progress);
  };
  try {
    const finished = "ids" in target ? await actOnNamed(target.ids, send, add, isStopped) : await actOnFound(target.filter, send, add, isStopped);
    progress = { ...progress, state: finished ? "finished" : "stopped" };
  } catch (error) {
    progress = { ...progress, state: "broken", error };
  }
  tell(progress);
  return progress;
}

async function actOnNamed(
  ids: string[],
  send: (body: object) => Promise<BulkChunk>,
  add: (chunk: BulkChunk) => void,
  isStopped: () => boolean,
): Promise<boolean> {
  for (let first = 0; first < ids.length; first += CHUNK) {
    if (isStopped()) return false;
    // oxlint-disable-next-line no-await-in-loop -- one after the other: it must be possible to stop
    add(await send({ ids: ids.slice(first, first + CHUNK) }));
  }
  return true;
}

async function actOnFound(
  filter: Record<string, unknown>,
  send: (body: object) => Promise<BulkChunk>,
  add: (chunk: BulkChunk) => void,
  isStopped: () => boolean,
): Promise<boolean> {
  let cursor: string | null | undefined;
  do {
    if (isStopped()) return false;
    // oxlint-disable-next-line no-await-in-loop -- the cursor comes with the answer
    const chunk = await send({ filter, limit: CHUNK, ...(cursor ? { cursor } : {}) });
    add(chunk);
    cursor = chunk.next_cursor;
  } while (cursor);
  return true;
}
