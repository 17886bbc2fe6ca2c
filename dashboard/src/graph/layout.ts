import { graphlib, layout } from "@dagrejs/dagre";

export interface LayoutRequest {
  nodes: string[];
  edges: [string, string][];
}

export type Places = Record<string, { x: number; y: number }>;

export const NODE_WIDTH = 200;
export const NODE_HEIGHT = 48;
const MOST_FOR_DAGRE = 1200; // beyond that its time grows too fast: ranks alone must do

/** Where each node goes, from left to right. */
export function placesOf({ nodes, edges }: LayoutRequest): Places {
  return nodes.length + edges.length > MOST_FOR_DAGRE ? byRanks(nodes, edges) : byDagre(nodes, edges);
}

function byDagre(nodes: string[], edges: [string, string][]): Places {
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 16, ranksep: 56, marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const id of nodes) graph.setNode(id, { width: NODE_WIDTH, height: NODE_HEIGHT });
  for (const [from, to] of edges) graph.setEdge(from, to);
  layout(graph);
  return Object.fromEntries(
    nodes.map((id) => {
      const { x, y } = graph.node(id) as { x: number; y: number };
      return [id, { x: x - NODE_WIDTH / 2, y: y - NODE_HEIGHT / 2 }];
    }),
  );
}

/** Columns by the longest way from a root; within a column in the order given. */
export function byRanks(nodes: string[], edges: [string, string][]): Places {
  const rank = new Map(nodes.map((id) => [id, 0]));
  const children = new Map<string, string[]>();
  const waiting = new Map(nodes.map((id) => [id, 0]));
  for (const [from, to] of edges) {
    children.set(from, [...(children.get(from) ?? []), to]);
    waiting.set(to, (waiting.get(to) ?? 0) + 1);
  }
  const ready = nodes.filter((id) => waiting.get(id) === 0);
  for (let next = ready.shift(); next !== undefined; next = ready.shift()) {
    for (const child of children.get(next) ?? []) {
      rank.set(child, Math.max(rank.get(child) ?? 0, (rank.get(next) ?? 0) + 1));
      waiting.set(child, (waiting.get(child) ?? 0) - 1);
      if (waiting.get(child) === 0) ready.push(child);
    }
  }
  const rows = new Map<number, number>();
  return Object.fromEntries(
    nodes.map((id) => {
      const column = rank.get(id) ?? 0;
      const row = rows.get(column) ?? 0;
      rows.set(column, row + 1);
      return [id, { x: column * (NODE_WIDTH + 72), y: row * (NODE_HEIGHT + 16) }];
    }),
  );
}
