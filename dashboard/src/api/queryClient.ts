import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { ProblemError } from "./problem";

const RETRIES = 2;
const FIRST_SERVER_ERROR = 500;

/** Keys begin with the word of the API's path: ["jobs", …], ["executions", …]; live events refresh by it. */
export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: leaveWhenSignedOut }),
  mutationCache: new MutationCache({ onError: leaveWhenSignedOut }),
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      gcTime: 5 * 60_000,
      refetchOnWindowFocus: false, // the live stream refreshes when the tab is shown again
      retry: (count, error) => count < RETRIES && !isRefusal(error),
    },
  },
});

/** A refusal is an answer: asking again gets the same one. */
function isRefusal(error: Error): boolean {
  return error instanceof ProblemError && error.status < FIRST_SERVER_ERROR;
}

function leaveWhenSignedOut(error: Error): void {
  if (error instanceof ProblemError && error.status === 401) queryClient.setQueryData(["me"], null);
}
