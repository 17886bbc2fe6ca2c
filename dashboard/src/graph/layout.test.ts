import { expect, it } from "vitest";
import { byRanks, placesOf } from "./layout";

it("puts children to the right of their parents", () => {
  const places = placesOf({ nodes: ["a", "b", "c"], edges: [["a", "b"], ["b", "c"]] });
  expect(places["a"]?.x).toBeLessThan(places["b"]?.x ?? 0);
  expect(places["b"]?.x).toBeLessThan(places["c"]?.x ?? 0);
});

it("places thousands of nodes by ranks alone", () => {
  const nodes = ["a", ...Array.from({ length: 5000 }, (_, place) => `m${place}`), "z"];
  const edges = nodes.slice(1, -1).flatMap((id): [string, string][] => [["a", id], [id, "z"]]);
  const places = placesOf({ nodes, edges });
  expect(Object.keys(places)).toHaveLength(5002);
  expect(places["z"]?.x).toBeGreaterThan(places["m0"]?.x ?? 0);
});

it("takes the longest way to a node as its column", () => {
  const places = byRanks(["a", "b", "c"], [["a", "c"], ["a", "b"], ["b", "c"]]);
  expect(places["c"]?.x).toBeGreaterThan(places["b"]?.x ?? 0);
});
