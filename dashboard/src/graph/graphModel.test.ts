import { describe, expect, it } from "vitest";
import { behindFailures, drawnGraph, failedFirst, type GraphJob, graphSentence, groupsOf, stateCounts } from "./graphModel";

const job = (id: string, parents: string[], status: string | null = "completed", task = "step"): GraphJob =>
  ({
    job_id: id,
    depends_on: parents,
    parents: parents.map((parent) => ({ job_id: parent, on: "success", when: false })),
    status,
    task,
    waiting_for: null,
    reason: null,
    element_of: null,
    name: id,
    key: null,
  }) as unknown as GraphJob;

const branch = (id: string, parent: string, on: string, status: string, reason: string | null = null) =>
  ({ ...job(id, [parent], status), parents: [{ job_id: parent, on, when: false }], reason }) as unknown as GraphJob;

const wide = (count: number, status = "completed") => [
  job("a", []),
  ...Array.from({ length: count }, (_, place) => job(`m${place}`, ["a"], status)),
  job("z", Array.from({ length: count }, (_, place) => `m${place}`), "pending"),
];

const withStatus = (jobs: GraphJob[], id: string, status: string) => jobs.map((each) => (each.job_id === id ? job(id, each.depends_on, status) : each));

describe("drawnGraph", () => {
  it("folds ten thousand alike jobs into one node", () => {
    const { nodes, edges } = drawnGraph(wide(10_000), true, new Set());
    expect(nodes).toHaveLength(3);
    expect(edges.map(({ id }) => id).toSorted()).toEqual(["a>group-m0", "group-m0>z"]);
    expect(nodes.find(({ isGroup }) => isGroup)?.jobs).toHaveLength(10_000);
  });

  it("never hides what failed", () => {
    const jobs = withStatus(wide(10), "m3", "failed");
    const { nodes, edges } = drawnGraph(jobs, true, new Set());
    expect(nodes.map(({ id }) => id).toSorted()).toEqual(["a", "group-m0", "m3", "z"]);
    expect(edges.find(({ from }) => from === "m3")).toMatchObject({ failed: true, satisfied: false });
  });

  it("unfolds what was opened, and everything where nothing folds", () => {
    expect(drawnGraph(wide(10), true, new Set(["group-m0"])).nodes).toHaveLength(12);
    expect(drawnGraph(wide(10), false, new Set()).nodes).toHaveLength(12);
  });

  it("calls an edge of a group satisfied only if all its jobs completed", () => {
    const jobs = withStatus(wide(5), "m1", "running");
    const edge = drawnGraph(jobs, true, new Set()).edges.find(({ to }) => to === "z");
    expect(edge?.satisfied).toBe(false);
  });

  it("leaves out edges to jobs that were not answered", () => {
    expect(drawnGraph([job("b", ["gone"])], true, new Set()).edges).toEqual([]);
  });
});

it("groups only jobs of one task with the same neighbours", () => {
  const jobs = [...wide(4), job("odd", ["a"], "completed", "other")];
  expect([...groupsOf(jobs).values()].map((group) => group.length)).toEqual([4]);
});

it("lists failures and what they hold up first", () => {
  const jobs = [job("a", []), job("b", ["a"], "failed"), job("c", ["b"], "pending"), job("d", ["a"], "running")];
  expect(failedFirst(jobs).map(({ job_id }) => job_id)).toEqual(["b", "c", "d", "a"]);
  expect([...behindFailures(jobs)]).toEqual(["c"]);
});

describe("branches", () => {
  const notTaken = "not taken: parent a did not fail";

  it("say what they need, and are satisfied by it", () => {
    const jobs = [job("a", [], "failed"), branch("b", "a", "failure", "completed"), branch("c", "a", "any outcome", "completed"), job("d", ["a"], "pending")];
    expect(drawnGraph(jobs, false, new Set()).edges.map(({ to, satisfied, failed, words }) => [to, satisfied, failed, words])).toEqual([
      ["b", true, false, "on failure"],
      ["c", true, false, "any outcome"],
      ["d", false, true, null],
    ]);
    expect([...behindFailures(jobs)]).toEqual(["d"]);
  });

  it("draw the elements of a list after the job that runs for each of them, and fold them", () => {
    const elements = Array.from({ length: 50 }, (_, place) => ({ ...job(`x${place}`, []), element_of: "b" }) as GraphJob);
    const jobs = [job("a", []), job("b", ["a"]), job("c", ["b"], "pending"), ...elements];
    const { nodes, edges } = drawnGraph(jobs, true, new Set());
    expect(nodes).toHaveLength(4);
    expect(edges.find(({ to }) => to === "group-x0")).toMatchObject({ from: "b", words: "element" });
  });

  it("that were not taken are no failure", () => {
    const jobs = [job("a", []), branch("b", "a", "failure", "skipped", notTaken)];
    expect(drawnGraph(jobs, false, new Set()).edges[0]).toMatchObject({ satisfied: false, failed: false });
    expect(graphSentence(jobs)).toBe("1 of 2 jobs completed; 1 on branches that were not taken.");
  });
});

it("says how a workflow stands", () => {
  expect(graphSentence([job("a", []), job("b", ["a"])])).toBe("All 2 jobs completed.");
  expect(graphSentence([job("a", [], "failed"), job("b", ["a"], "pending")])).toBe("1 of 2 jobs failed; 1 wait for them.");
  expect(graphSentence([job("a", []), job("b", ["a"], "running")])).toBe("1 of 2 jobs running, 1 completed.");
});

it("counts states, worst first", () => {
  expect(stateCounts([job("a", []), job("b", [], "failed"), job("c", [], null)])).toEqual([
    { state: "failed", count: 1 },
    { state: "completed", count: 1 },
    { state: "none", count: 1 },
  ]);
});
