import { describe, expect, it } from "vitest";
import { type BulkChunk, type BulkProgress, CHUNK, runBulk } from "./bulkRun";

const never = () => false;

function server(answers: BulkChunk[]) {
  const bodies: object[] = [];
  const send = async (body: object) => {
    bodies.push(body);
    const answer = answers.shift();
    if (!answer) throw new Error("asked too often");
    return answer;
  };
  return { bodies, send };
}

describe("runBulk", () => {
  it("follows the cursor of a filter until there is none", async () => {
    const { bodies, send } = server([
      { done: 200, failed: [], next_cursor: "c1" },
      { done: 9, failed: [{ job_id: "j7", title: "No", detail: "it is cancelled" }], next_cursor: null },
    ]);
    const told: BulkProgress[] = [];
    const end = await runBulk({ filter: { status: "active" } }, send, (progress) => told.push(progress), never);
    expect(end).toMatchObject({ done: 209, state: "finished" });
    expect(end.failed).toHaveLength(1);
    expect(bodies[1]).toEqual({ filter: { status: "active" }, limit: CHUNK, cursor: "c1" });
    expect(told.map(({ done }) => done)).toEqual([200, 209, 209]);
  });

  it("cuts named jobs into parts", async () => {
    const ids = Array.from({ length: CHUNK + 1 }, (_, number) => `j${number}`);
    const { bodies, send } = server([
      { done: CHUNK, failed: [] },
      { done: 1, failed: [] },
    ]);
    const end = await runBulk({ ids }, send, () => undefined, never);
    expect(end.done).toBe(CHUNK + 1);
    expect(bodies).toHaveLength(2);
  });

  it("stops between two requests", async () => {
    const { send } = server([{ done: 200, failed: [], next_cursor: "c1" }]);
    let asked = 0;
    const end = await runBulk({ filter: {} }, send, () => undefined, () => asked++ > 0);
    expect(end).toMatchObject({ done: 200, state: "stopped" });
  });

  it("says what was done before it broke", async () => {
    const { send } = server([{ done: 200, failed: [], next_cursor: "c1" }]);
    const end = await runBulk({ filter: {} }, send, () => undefined, never);
    expect(end).toMatchObject({ done: 200, state: "broken" });
    expect(end.error).toBeInstanceOf(Error);
  });
});
