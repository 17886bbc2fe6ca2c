import { useQueries, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { overviewQuery, statsQuery } from "../overview/overviewQueries";
import { useLive } from "../live/useLive";
import { candidatesOf, chooseLanes, usualLanes } from "./chooseLanes";
import type { Run } from "./mergeRuns";
import { busySlots, typicalRunTimes } from "./runTimes";
import { runOfDueTime, runOfExecution, runOfPoint, typicalLength } from "./runsOf";
import { dueTimesQuery, jobNameQuery, type LanePast, laneQuery, runTimesQuery, sampleQuery } from "./timelineQueries";
import { rounded, STEP_LENGTHS, stepFor, type TimeWindow } from "./timeWindow";

export interface Lane {
  id: string;
  failing: boolean;
  title: string;
  runs: Run[];
  /** How long a run usually takes, in milliseconds, if one is known. */
  typical: number | undefined;
  /** The next due time. */
  next: number | undefined;
}

const SHORTEST_REST = 5_000;
const UNKNOWN_LENGTH = 1_000; // milliseconds, for a task of which no run is known

/** All that the time line shows, read again by itself: more often where less time is shown. */
export function useTimeline(window: TimeWindow, now: number, chosenBy: string | undefined) {
  const { status } = useLive();
  const again = status === "paused" ? false : Math.max(SHORTEST_REST, (window.until - window.from) / 1000);
  const whole = rounded(window);
  const past = { from: whole.from, until: Math.min(whole.until, rounded({ from: now, until: now + (whole.until - whole.from) }).from + 1) };
  const hasPast = past.until > past.from;
  const ahead = { from: Math.max(whole.from, Math.floor(now / 30_000) * 30_000), until: whole.until };
  const overview = useQuery(overviewQuery);
  const sample = useQuery({ ...sampleQuery(whole, again), enabled: hasPast });
  const due = useQuery(dueTimesQuery(ahead));
  const runTimes = useQuery(runTimesQuery(now));
  const step = stepFor(window, now);
  const busy = useQuery({ ...statsQuery({ from: whole.from, until: Math.min(whole.until, now) }, step), enabled: whole.from < now });
  const executions = sample.data ?? [];
  const by = chosenBy === "job" || chosenBy === "task" ? chosenBy : usualLanes(executions.map(({ job_id }) => job_id));
  const failing = overview.data?.worst ?? [];
  const { lanes: chosen, left } = chooseLanes(candidatesOf(by, executions, due.data?.items ?? [], failing));
  const pasts = useQueries({ queries: chosen.map(({ id }) => laneQuery(by, id, whole, step, again)) });
  const names = useQueries({ queries: by === "job" ? chosen.filter(({ name }) => !name).map(({ id }) => jobNameQuery(id)) : [] });
  const unnamed = chosen.filter(({ name }) => !name).map(({ id }) => id);
  const nameOf = (id: string) => names[unnamed.indexOf(id)]?.data;
  const typical = useMemo(() => typicalRunTimes(runTimes.data ?? []), [runTimes.data]);
  const items = due.data?.items ?? [];
  const lanes = chosen.map((candidate, place): Lane => {
    const read = pasts[place]?.data;
    const ours = items.filter((each) => (by === "job" ? each.job_id : each.task) === candidate.id && Date.parse(each.at) > now);
    const length = typicalLength(read?.executions ?? []) ?? typical.get(ours[0]?.task ?? candidate.id);
    return {
      id: candidate.id,
      failing: candidate.failing ?? false,
      title: candidate.name ?? nameOf(candidate.id) ?? candidate.id,
      runs: [...pastRuns(read, now), ...ours.map(({ at }) => runOfDueTime(at, length ?? UNKNOWN_LENGTH))],
      typical: length,
      next: ours[0] ? Date.parse(ours[0].at) : undefined,
    };
  });
  return {
    by,
    lanes,
    left,
    due: due.data,
    typical,
    ahead,
    busy: busySlots(busy.data ?? [], STEP_LENGTHS[step]),
    busyStep: STEP_LENGTHS[step],
    slots: overview.data?.capacity.slots ?? 0,
    isLoading: (hasPast && sample.isPending) || due.isPending,
    error: sample.error ?? due.error,
    retry: () => {
      void sample.refetch();
      void due.refetch();
    },
  };
}

function pastRuns(read: LanePast | undefined, now: number): Run[] {
  if (!read) return [];
  const points = read.points?.flatMap((point) => runOfPoint(point, read.step ?? 0, now)) ?? [];
  return [...points, ...read.executions.map((each) => runOfExecution(each, now))];
}
