import { Skeleton } from "@mantine/core";
import { Problem } from "./Problem";

interface AnswerProps<Data> {
  query: { data: Data | undefined; error: unknown; isPending: boolean; refetch: () => unknown };
  children: (data: Data) => React.ReactNode;
}

/** What a query answered; before that a skeleton, and what went wrong if something did. */
export function Answer<Data>({ query, children }: AnswerProps<Data>) {
  if (query.data !== undefined) return <>{children(query.data)}</>;
  if (query.error) return <Problem error={query.error} onRetry={() => void query.refetch()} />;
  return (
    <div aria-busy>
      <Skeleton height={20} width="40%" mb={16} />
      <Skeleton height={120} />
    </div>
  );
}
