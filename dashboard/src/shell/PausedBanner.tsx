import { useIsFetching, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { every } from "../live/useLive";
import { overviewQuery } from "../overview/overviewQueries";
import classes from "./PausedBanner.module.css";

const RARELY = 30_000; // milliseconds: a pause also arrives as an event

/** Says on every page that the whole cluster is paused: what waits there waits for nothing else. */
export function PausedBanner() {
  const { data: paused } = useQuery({
    ...overviewQuery,
    enabled: useHasBeenQuiet(),
    staleTime: RARELY,
    refetchInterval: every(RARELY),
    select: (overview) => overview.paused,
  });
  if (!paused) return null;
  return (
    <div role="status" className={classes.banner}>
      The cluster is paused: nothing fires, and nothing is handed over. <Link to="/cluster">See what there is to decide</Link>
    </div>
  );
}

/** False until the page that was opened first has what it shows: the server is not asked for anything else before. */
function useHasBeenQuiet(): boolean {
  const isQuiet = useIsFetching() === 0;
  const [hasBeenQuiet, setHasBeenQuiet] = useState(isQuiet);
  if (isQuiet && !hasBeenQuiet) setHasBeenQuiet(true);
  return hasBeenQuiet;
}
