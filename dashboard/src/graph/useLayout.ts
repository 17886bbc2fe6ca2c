import { useEffect, useRef, useState } from "react";
import type { DrawnGraph } from "./graphModel";
import type { Places } from "./layout";

/** Places for the nodes of a graph, computed in a worker; null until the first are known. States may change without a new layout. */
export function useLayout(graph: DrawnGraph): Places | null {
  const shape = JSON.stringify([graph.nodes.map(({ id }) => id), graph.edges.map(({ from, to }) => [from, to])]);
  const worker = useRef<Worker | null>(null);
  const turn = useRef(0);
  const [places, setPlaces] = useState<Places | null>(null);
  useEffect(() => {
    const made = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
    worker.current = made;
    made.addEventListener("message", ({ data }: MessageEvent<{ turn: number; places: Places }>) => {
      if (data.turn === turn.current) setPlaces(data.places);
    });
    return () => made.terminate();
  }, []);
  useEffect(() => {
    const [nodes, edges] = JSON.parse(shape) as [string[], [string, string][]];
    turn.current += 1;
    worker.current?.postMessage({ turn: turn.current, request: { nodes, edges } });
  }, [shape]);
  return places;
}
