import { useQuery } from "@tanstack/react-query";
import { answer, api } from "../api/client";

/** The tasks that workers offer, and have offered. */
export function useTasks() {
  return useQuery({
    queryKey: ["tasks", "list"],
    queryFn: async () => (await answer(api.GET("/v1/tasks", {}))).items.filter(({ name }) => name !== "http"),
    staleTime: 30_000,
  });
}
