import { Problem } from "../parts/Problem";

/** What is shown where a page broke; the rest of the dashboard goes on. */
export function PageFailed({ error, reset }: { error: unknown; reset: () => void }) {
  return <Problem error={error} onRetry={reset} />;
}
