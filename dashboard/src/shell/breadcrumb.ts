import { useQueryClient } from "@tanstack/react-query";
import { useMatches } from "@tanstack/react-router";
import { useSyncExternalStore } from "react";
import { jobTitle } from "../parts/jobTitle";

export interface Crumb {
  word: string;
  to: string;
}

/** The way to the page that is shown, from the `crumb` of each route. A job is called by its name, once it is known. */
export function useCrumbs(): Crumb[] {
  const queries = useQueryClient();
  const matches = useMatches();
  const nameOf = (id: string) => {
    const job = queries.getQueryData<{ id: string; name: string | null; key: string | null; task: string | null }>(["jobs", "one", id]);
    return job ? jobTitle(job) : id;
  };
  const words = () =>
    matches
      .map(({ staticData, params }) => {
        const { crumb } = staticData as { crumb?: string | ((params: Record<string, string>) => string) };
        return typeof crumb === "function" ? nameOf(crumb(params as Record<string, string>)) : (crumb ?? "");
      })
      .join("\n");
  const shown = useSyncExternalStore((changed) => queries.getQueryCache().subscribe(changed), words).split("\n");
  return matches.flatMap(({ pathname }, place) => (shown[place] ? [{ word: shown[place], to: pathname }] : []));
}
