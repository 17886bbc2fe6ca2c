import { answer, api } from "../api/client";
import type { Filters } from "../list/FilterBar";
import type { Page, PagedQuery } from "../list/usePagedList";
import type { Execution } from "./executionColumns";
import { conditionsOf } from "./executionFilters";

const PAGE = 100;

export interface ExecutionPage extends Page<Execution> {
  /** What is older was not looked at yet. */
  searched_until?: string | null;
}

/** The list of executions, page by page. */
export function executionListQuery(filters: Filters): PagedQuery<Execution, ExecutionPage> {
  return { queryKey: ["executions", "list", filters], fetchPage: (cursor) => fetchExecutions(filters, cursor) };
}

async function fetchExecutions(filters: Filters, cursor: string | undefined): Promise<ExecutionPage> {
  const query = { ...conditionsOf(filters, new Date()), limit: PAGE, ...(cursor ? { cursor } : {}) };
  return await answer(api.GET("/v1/executions", { params: { query: query as never } }));
}
