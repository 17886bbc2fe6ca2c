import { infiniteQueryOptions, keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { queryClient } from "../api/queryClient";
import { holdRows } from "./holdRows";
import type { RowList } from "./rowList";

export interface Page<Row> {
  items: Row[];
  next_cursor?: string | null;
}

export interface PagedQuery<Row, Answer extends Page<Row> = Page<Row>> {
  /** Begins with the word of the API's path, and has every filter in it. */
  queryKey: readonly unknown[];
  fetchPage: (cursor: string | undefined) => Promise<Answer>;
}

interface PagedListOptions<Row, Answer extends Page<Row>> extends PagedQuery<Row, Answer> {
  rowId: (row: Row) => string;
  /** For lists in order of time: new rows wait behind a "12 new" pill. */
  holdsNew?: boolean;
  /** Milliseconds, for what changes without an event. */
  refetchInterval?: number;
}

/** A list of the API, page by page. Live events refresh it; rows that are shown stay where they are. */
export function usePagedList<Row, Answer extends Page<Row> = Page<Row>>({
  queryKey,
  fetchPage,
  rowId,
  holdsNew = false,
  refetchInterval,
}: PagedListOptions<Row, Answer>): RowList<Row> & { lastPage: Answer | undefined } {
  const query = useInfiniteQuery({
    ...infinite({ queryKey, fetchPage }),
    placeholderData: keepPreviousData,
    refetchInterval: refetchInterval ?? false,
  });
  const incoming = useMemo(() => query.data?.pages.flatMap((page) => page.items) ?? [], [query.data]);
  const { shown, fresh, release } = useHeldRows(JSON.stringify(queryKey), incoming, rowId, holdsNew && !query.isPlaceholderData);
  return {
    rows: shown,
    error: query.error,
    isLoading: query.isPending,
    isOld: query.isPlaceholderData,
    hasMore: query.hasNextPage,
    isLoadingMore: query.isFetchingNextPage,
    loadMore: () => {
      if (query.hasNextPage && !query.isFetchingNextPage) void query.fetchNextPage();
    },
    retry: () => void query.refetch(),
    fresh,
    showFresh: release,
    lastPage: query.data?.pages.at(-1),
  };
}

/** Asks for the first page of a list while the code that shows it is on its way. */
export function prefetchList<Row, Answer extends Page<Row>>(list: PagedQuery<Row, Answer>): void {
  void queryClient.prefetchInfiniteQuery(infinite(list));
}

function infinite<Row, Answer extends Page<Row>>({ queryKey, fetchPage }: PagedQuery<Row, Answer>) {
  return infiniteQueryOptions({
    queryKey,
    queryFn: ({ pageParam }) => fetchPage(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
}

interface Held {
  key: string;
  ids: readonly string[];
}

function useHeldRows<Row>(key: string, incoming: Row[], rowId: (row: Row) => string, holds: boolean) {
  const [held, setHeld] = useState<Held>({ key, ids: [] });
  const ids = held.key === key ? held.ids : [];
  const { shown, fresh } = holds ? holdRows(ids, incoming, rowId) : { shown: incoming, fresh: 0 };
  const shownIds = shown.map(rowId);
  if (holds && (held.key !== key || !sameIds(shownIds, held.ids))) setHeld({ key, ids: shownIds });
  return { shown, fresh, release: () => setHeld({ key, ids: [] }) };
}

function sameIds(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((id, place) => id === other[place]);
}
