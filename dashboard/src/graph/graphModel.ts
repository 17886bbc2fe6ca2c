import type { Schemas } from "../api/client";

/** The graph of a workflow as it is drawn: jobs, groups of alike jobs that are folded into one, and edges. */
export type GraphJob = Schemas["GraphJob"];
type GraphParent = Schemas["GraphParent"];

export interface DrawnNode {
  id: string;
  /** One job, or several that are folded. */
  jobs: GraphJob[];
  isGroup: boolean;
  state: string;
  waitingFor: string | null;
}

export interface DrawnEdge {
  id: string;
  from: string;
  to: string;
  /** The parent has ended as the child needs it. */
  satisfied: boolean;
  /** The parent failed, and the child waits for its success. */
  failed: boolean;
  /** What the child needs, if that is not the success of the parent. */
  words: string | null;
}

export interface DrawnGraph {
  nodes: DrawnNode[];
  edges: DrawnEdge[];
}

export const FOLDS_BEYOND = 150; // jobs: a graph of more begins with its wide groups folded
const LEAST_IN_GROUP = 4;

/** Jobs with the same parents, the same children and the same task are alike: a wide group. */
export function groupsOf(jobs: readonly GraphJob[]): Map<string, GraphJob[]> {
  const children = childrenOf(jobs);
  const groups = new Map<string, GraphJob[]>();
  for (const job of jobs) {
    const key = [job.task, job.element_of ?? "", job.depends_on.toSorted().join(","), (children.get(job.job_id) ?? []).toSorted().join(",")].join("|");
    const group = groups.get(key);
    if (group) group.push(job);
    else groups.set(key, [job]);
  }
  const wide = [...groups.values()].filter((group) => group.length >= LEAST_IN_GROUP);
  return new Map(wide.map((group) => [`group-${group[0]?.job_id}`, group]));
}

export function childrenOf(jobs: readonly GraphJob[]): Map<string, string[]> {
  const children = new Map<string, string[]>();
  for (const { job_id, depends_on, element_of } of jobs) {
    for (const parent of element_of ? [element_of] : depends_on) {
      const known = children.get(parent);
      if (known) known.push(job_id);
      else children.set(parent, [job_id]);
    }
  }
  return children;
}

/** The nodes and edges to draw. `opened` are the groups that somebody unfolded; what failed is never hidden in a group. */
export function drawnGraph(jobs: readonly GraphJob[], folds: boolean, opened: ReadonlySet<string>): DrawnGraph {
  const nodeOf = new Map<string, string>();
  const nodes: DrawnNode[] = [];
  if (folds) {
    for (const [id, group] of groupsOf(jobs)) {
      if (opened.has(id)) continue;
      const hidden = group.filter((job) => job.status !== "failed");
      if (hidden.length < LEAST_IN_GROUP) continue;
      for (const { job_id } of hidden) nodeOf.set(job_id, id);
      nodes.push({ id, jobs: hidden, isGroup: true, ...worstOf(hidden) });
    }
  }
  for (const job of jobs) {
    if (nodeOf.has(job.job_id)) continue;
    nodeOf.set(job.job_id, job.job_id);
    nodes.push({ id: job.job_id, jobs: [job], isGroup: false, state: job.status ?? "none", waitingFor: job.waiting_for });
  }
  return { nodes, edges: drawnEdges(jobs, nodeOf) };
}

function drawnEdges(jobs: readonly GraphJob[], nodeOf: ReadonlyMap<string, string>): DrawnEdge[] {
  const byId = new Map(jobs.map((job) => [job.job_id, job]));
  const edges = new Map<string, DrawnEdge>();
  for (const job of jobs) {
    for (const edge of job.element_of ? [elementEdge(job.element_of)] : job.parents) {
      const parent = byId.get(edge.job_id);
      const from = nodeOf.get(edge.job_id);
      const to = nodeOf.get(job.job_id);
      if (!parent || !from || !to) continue; // beyond what the API answered
      const id = `${from}>${to}`;
      const satisfied = isSatisfied(edge, parent, job);
      const failed = parent.status === "failed" && edge.on === "success";
      const known = edges.get(id);
      edges.set(id, {
        id,
        from,
        to,
        satisfied: satisfied && (known?.satisfied ?? true),
        failed: failed || (known?.failed ?? false),
        words: job.element_of ? "element" : edgeWords(edge),
      });
    }
  }
  return [...edges.values()];
}

/** The elements of a list are drawn after the job that runs for each of them. */
function elementEdge(job_id: string): GraphParent {
  return { job_id, on: "any outcome", when: false };
}

const ENDED = new Set(["completed", "failed", "cancelled", "skipped"]);

function isSatisfied(edge: GraphParent, parent: GraphJob, child: GraphJob): boolean {
  if (isNotTaken(child)) return false;
  if (edge.on === "any outcome") return ENDED.has(parent.status ?? "");
  return parent.status === (edge.on === "failure" ? "failed" : "completed");
}

export function edgeWords({ on, when }: GraphParent): string | null {
  if (when) return "on condition";
  return on === "success" ? null : on === "failure" ? "on failure" : "any outcome";
}

/** Its branch of the graph was not taken. */
export function isNotTaken({ status, reason }: GraphJob): boolean {
  return status === "skipped" && (reason ?? "").startsWith("not taken");
}

const ORDER = ["failed", "running", "pending", "cancelled", "skipped", "completed"];

/** What needs a look first says what the group is. */
function worstOf(jobs: readonly GraphJob[]): { state: string; waitingFor: string | null } {
  const sorted = jobs.toSorted((one, other) => rank(one.status) - rank(other.status));
  return { state: sorted[0]?.status ?? "none", waitingFor: sorted[0]?.waiting_for ?? null };
}

function rank(status: string | null): number {
  const place = ORDER.indexOf(status ?? "");
  return place === -1 ? ORDER.length : place;
}

/** Failed ones first, then what they hold up, then what runs: the order of the list. */
export function failedFirst(jobs: readonly GraphJob[]): GraphJob[] {
  const behind = behindFailures(jobs);
  const key = (job: GraphJob) => (job.status === "failed" ? 0 : behind.has(job.job_id) ? 1 : 2 + rank(job.status));
  return jobs.map((job, place) => ({ job, place })).toSorted((one, other) => key(one.job) - key(other.job) || one.place - other.place).map(({ job }) => job);
}

/** The jobs that wait, directly or through others, for one that failed. */
export function behindFailures(jobs: readonly GraphJob[]): Set<string> {
  const children = waitingChildren(jobs);
  const found = new Set<string>();
  const open = jobs.filter(({ status }) => status === "failed").map(({ job_id }) => job_id);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const child of children.get(next) ?? []) {
      if (found.has(child)) continue;
      found.add(child);
      open.push(child);
    }
  }
  return found;
}

/** The jobs that a failure of each job holds up. */
function waitingChildren(jobs: readonly GraphJob[]): Map<string, string[]> {
  const needing = jobs.map((job) => ({ ...job, element_of: null, depends_on: job.parents.filter(({ on }) => on === "success").map(({ job_id }) => job_id) }));
  return childrenOf(needing.filter((job) => !isNotTaken(job)));
}

export interface StateCount {
  state: string;
  count: number;
}

export function stateCounts(jobs: readonly GraphJob[]): StateCount[] {
  const counts = new Map<string, number>();
  for (const { status } of jobs) counts.set(status ?? "none", (counts.get(status ?? "none") ?? 0) + 1);
  return [...counts].map(([state, count]) => ({ state, count })).toSorted((one, other) => rank(one.state) - rank(other.state));
}

/** "All 7 jobs completed.", "2 of 7 jobs failed; 3 wait for them." */
export function graphSentence(jobs: readonly GraphJob[]): string {
  const count = (state: string) => jobs.filter(({ status }) => status === state).length;
  const all = `${jobs.length.toLocaleString("en")} ${jobs.length === 1 ? "job" : "jobs"}`;
  if (jobs.length > 0 && count("completed") === jobs.length) return `All ${all} completed.`;
  const untaken = jobs.filter(isNotTaken).length;
  if (untaken > 0 && count("completed") + untaken === jobs.length) {
    return `${count("completed")} of ${all} completed; ${untaken.toLocaleString("en")} on branches that were not taken.`;
  }
  const waiting = [...behindFailures(jobs)].filter((id) => jobs.some((job) => job.job_id === id && job.status === "pending")).length;
  if (count("failed") > 0) return `${count("failed")} of ${all} failed${waiting > 0 ? `; ${waiting.toLocaleString("en")} wait for them` : ""}.`;
  if (count("running") > 0) return `${count("running")} of ${all} running, ${count("completed")} completed.`;
  return `${count("completed")} of ${all} completed.`;
}
