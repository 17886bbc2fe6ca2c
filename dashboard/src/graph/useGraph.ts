import { useQuery } from "@tanstack/react-query";
import { answer, api } from "../api/client";

const MOST = 10_000;

/** The graph around a job, live. */
export function useGraph(id: string) {
  return useQuery({
    queryKey: ["workflows", "graph", id],
    queryFn: () => answer(api.GET("/v1/jobs/{id}/graph", { params: { path: { id }, query: { limit: MOST } } })),
  });
}
