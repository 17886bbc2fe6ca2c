import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { answer, api } from "../api/client";
import type { Filters } from "../list/FilterBar";
import { conditionsOf } from "./jobFilters";

interface JobCount {
  value: number;
  kind: "exact" | "estimate" | "at least";
}

/** How many jobs match. It is asked for after the first rows, which would wait while millions are counted. */
export function useJobCount(filters: Filters, rowsAreThere: boolean): { value: number; words: string } | null {
  const { sort: _sort, ...conditions } = filters;
  const { data } = useQuery({
    queryKey: ["job-count", conditions],
    enabled: rowsAreThere,
    queryFn: async () => {
      const query = { ...conditionsOf(conditions, new Date()), limit: 1, count: "estimate" };
      const page = (await answer(api.GET("/v1/jobs", { params: { query: query as never } }))) as { count?: JobCount | null };
      return page.count ?? null;
    },
    placeholderData: keepPreviousData,
    staleTime: 30_000,
    refetchInterval: 30_000, // not at every event: counting millions takes its time
  });
  return data ? { value: data.value, words: wordsOf(data) } : null;
}

function wordsOf({ value, kind }: JobCount): string {
  const about = kind === "exact" ? "" : kind === "estimate" ? "≈ " : "at least ";
  return `${about}${value.toLocaleString("en")} ${value === 1 ? "job" : "jobs"}`;
}
