import { useNavigate, useSearch } from "@tanstack/react-router";
import type { Filters } from "./FilterBar";

/** The filters in the address, and how to change them. Pages with typed ones use `getRouteApi(…).useSearch()` for reading. */
export function useFilters(): [Filters, (change: Record<string, string | undefined>) => void] {
  const value = useSearch({ strict: false }) as Filters;
  const navigate = useNavigate();
  const change = (changed: Record<string, string | undefined>) =>
    void navigate({ to: ".", search: ((old: Filters) => ({ ...old, ...changed })) as never, replace: true });
  return [value, change];
}
