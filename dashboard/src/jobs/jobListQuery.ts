import { answer, api } from "../api/client";
import type { Filters } from "../list/FilterBar";
import type { PagedQuery } from "../list/usePagedList";
import type { Job } from "./jobColumns";
import { conditionsOf } from "./jobFilters";

const PAGE = 60;
const STRIP = 30;

/** The list of jobs, page by page. */
export function jobListQuery(filters: Filters): PagedQuery<Job> {
  return { queryKey: ["jobs", "list", filters], fetchPage: (cursor) => fetchJobs(filters, cursor) };
}

async function fetchJobs(filters: Filters, cursor: string | undefined) {
  const query = {
    ...conditionsOf(filters, new Date()),
    ...(filters["sort"] ? { sort: filters["sort"] } : {}),
    limit: PAGE,
    recent: STRIP,
    ...(cursor ? { cursor } : {}),
  };
  return (await answer(api.GET("/v1/jobs", { params: { query: query as never } }))) as { items: Job[]; next_cursor: string | null };
}
