/** Rows as DataTable and SimpleTable show them. */
export interface RowList<Row> {
  rows: Row[];
  error: unknown;
  isLoading: boolean;
  /** What is shown belongs to other filters, while that for the current ones is on its way. */
  isOld: boolean;
  hasMore: boolean;
  isLoadingMore: boolean;
  loadMore: () => void;
  retry: () => void;
  /** How many rows came in above those shown. */
  fresh: number;
  showFresh: () => void;
}

/** For rows that come in one answer. */
export function rowsOf<Row>(query: {
  data: Row[] | undefined;
  error: unknown;
  isPending: boolean;
  refetch: () => unknown;
}): RowList<Row> {
  return {
    rows: query.data ?? [],
    error: query.error,
    isLoading: query.isPending,
    isOld: false,
    hasMore: false,
    isLoadingMore: false,
    loadMore: () => undefined,
    retry: () => void query.refetch(),
    fresh: 0,
    showFresh: () => undefined,
  };
}
