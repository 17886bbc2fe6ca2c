import {
  BREAKER_LOOKS,
  EXECUTION_LOOKS,
  HEALTH_LOOKS,
  JOB_LOOKS,
  PING_LOOKS,
  type StateLook,
  UNKNOWN_LOOK,
  WAITING_LOOKS,
  WORKER_LOOKS,
} from "../parts/states";

export interface KindMeaning {
  /** What happened, as a sentence. */
  words: string;
  look: StateLook;
}

const { retry, limit, dependency, due, paused } = WAITING_LOOKS;

/** Every kind of event. Those of the pulse are last: they are live only and not kept. */
export const KINDS: Record<string, KindMeaning> = {
  "job.created": { words: "A job was created.", look: JOB_LOOKS.active },
  "job.changed": { words: "A job was edited.", look: { ...UNKNOWN_LOOK, shape: "play" } },
  "job.paused": { words: "A job was paused: nothing of it starts until it is resumed.", look: JOB_LOOKS.paused },
  "job.resumed": { words: "A paused job goes on.", look: JOB_LOOKS.active },
  "job.cancelled": { words: "A job was cancelled: it has no further executions.", look: JOB_LOOKS.cancelled },
  "job.failed": { words: "A job cannot go on, for instance because its schedule cannot be computed.", look: JOB_LOOKS.failed },
  "job.purged": { words: "A job was deleted with everything about it.", look: { ...UNKNOWN_LOOK, shape: "minus" } },
  "execution.retrying": { words: "An attempt failed; another follows.", look: retry },
  "execution.lost": { words: "The worker of an attempt was lost; another attempt follows.", look: retry },
  "execution.failed": { words: "An execution failed for good: it is a dead letter now.", look: EXECUTION_LOOKS.failed },
  "execution.snoozed": { words: "The code asked to be run later.", look: due },
  "execution.recovered": { words: "A job that failed before succeeded again.", look: EXECUTION_LOOKS.completed },
  "execution.skipped": { words: "An execution was skipped, as its job's policies say.", look: EXECUTION_LOOKS.skipped },
  "execution.missed": { words: "Due times passed while no server could fire them.", look: EXECUTION_LOOKS.skipped },
  "execution.cancelled": { words: "An execution was cancelled.", look: EXECUTION_LOOKS.cancelled },
  "execution.late": { words: "An execution starts more than a minute late.", look: HEALTH_LOOKS.late },
  "execution.slow": { words: "An execution has been running for longer than its job expects.", look: EXECUTION_LOOKS.running },
  "deadline.endangered": { words: "An execution is going to miss its deadline.", look: HEALTH_LOOKS.late },
  "execution.blocked": { words: "An execution waits for one that failed.", look: dependency },
  "execution.edited": { words: "Somebody retried an execution with another payload.", look: { ...UNKNOWN_LOOK, shape: "play" } },
  "backfill.ended": { words: "A backfill has nothing left to run.", look: EXECUTION_LOOKS.completed },
  "workflow.ended": { words: "A workflow has nothing left to run.", look: EXECUTION_LOOKS.completed },
  "deadletters.exceeded": { words: "There are more dead letters than a rule allows.", look: EXECUTION_LOOKS.failed },
  "deadletters.receded": { words: "There are no more dead letters than a rule allows.", look: EXECUTION_LOOKS.completed },
  "breaker.opened": { words: "A destination fails: it is not called for a while.", look: BREAKER_LOOKS.open },
  "breaker.closed": { words: "A destination works again.", look: BREAKER_LOOKS.closed },
  "worker.joined": { words: "A worker connected.", look: WORKER_LOOKS.online },
  "worker.lost": { words: "A worker fell silent; others take over what it held.", look: WORKER_LOOKS.offline },
  "worker.left": { words: "A worker finished its work and went.", look: WORKER_LOOKS.draining },
  "queue.changed": { words: "The limits of a queue were changed.", look: limit },
  "queue.paused": { words: "A queue was paused: nothing in it starts.", look: paused },
  "queue.resumed": { words: "A paused queue goes on.", look: JOB_LOOKS.active },
  "queue.stuck": { words: "Executions are due in a queue, and none of them has started for long.", look: HEALTH_LOOKS.late },
  "queue.recovered": { words: "Executions of a queue that was stuck start again.", look: JOB_LOOKS.active },
  "key.created": { words: "An API key was created.", look: { ...UNKNOWN_LOOK, shape: "plug" } },
  "key.revoked": { words: "An API key was revoked.", look: { ...UNKNOWN_LOOK, shape: "minus" } },
  "ping.late": { words: "Something that runs elsewhere has not come when it usually does.", look: PING_LOOKS.late },
  "ping.missing": { words: "Something that runs elsewhere stayed away: its grace is over.", look: PING_LOOKS.missing },
  "ping.failed": { words: "Something that runs elsewhere reported a failure.", look: PING_LOOKS.failed },
  "ping.recovered": { words: "Something that runs elsewhere succeeded again.", look: PING_LOOKS.ok },
  "ping.slow": { words: "Something that runs elsewhere takes longer than usual.", look: EXECUTION_LOOKS.running },
  "node.silent": { words: "A node fires nothing any more; the others do its work.", look: WORKER_LOOKS.offline },
  "node.back": { words: "A node that was silent fires again.", look: WORKER_LOOKS.online },
  "database.failover": { words: "Another database server has taken over.", look: HEALTH_LOOKS.late },
  "commits.lost": { words: "The database failed over and has lost commits that were answered.", look: EXECUTION_LOOKS.failed },
  "cluster.paused": { words: "The whole cluster was paused: nothing fires or is handed over.", look: paused },
  "cluster.resumed": { words: "The paused cluster goes on.", look: JOB_LOOKS.active },
  "cluster.restored": { words: "The database was restored from a backup, or a standby was promoted.", look: HEALTH_LOOKS.late },
  "execution.started": { words: "An attempt started.", look: EXECUTION_LOOKS.running },
  "execution.completed": { words: "An execution succeeded.", look: EXECUTION_LOOKS.completed },
  "pulse.sampled": { words: "So much happens that starts and ends are only a sample from here on.", look: UNKNOWN_LOOK },
};

const PULSE = new Set(["execution.started", "execution.completed", "pulse.sampled"]);

/** Starts and ends: told live, not kept. */
export function isPulse(kind: string): boolean {
  return PULSE.has(kind);
}

/** A kind that this version does not know is told by its name. */
export function meaningOf(kind: string): KindMeaning {
  return KINDS[kind] ?? { words: kind, look: UNKNOWN_LOOK };
}

const NOUNS = [...new Set(Object.keys(KINDS).map((kind) => kind.split(".")[0] ?? ""))].filter((noun) => noun !== "pulse");

/** For the filter: all of a noun, then each kind that is kept. */
export const KIND_CHOICES: readonly { value: string; label: string }[] = NOUNS.flatMap((noun) => {
  const kinds = Object.keys(KINDS).filter((kind) => kind.startsWith(`${noun}.`) && !isPulse(kind));
  return [{ value: `${noun}.*`, label: `${noun}: all` }].concat(kinds.map((kind) => ({ value: kind, label: kind })));
});
