import { Button, SegmentedControl, Switch } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { lazy, Suspense, useCallback, useMemo, useState } from "react";
import type { Schemas } from "../api/client";
import { useFilters } from "../list/useFilters";
import { Answer } from "../parts/Answer";
import { Card } from "../parts/Card";
import { EmptyState } from "../parts/EmptyState";
import { StateBadge } from "../parts/StatusBadge";
import { EXECUTION_LOOKS, lookOf, UNKNOWN_LOOK } from "../parts/states";
import classes from "./Graph.module.css";
import { GraphList } from "./GraphList";
import { drawnGraph, FOLDS_BEYOND, type GraphJob, groupsOf, stateCounts } from "./graphModel";
import { NodePanel } from "./NodePanel";
import { useGraph } from "./useGraph";

const MOST_DRAWN = 1500; // nodes that a browser can still draw smoothly

const GraphView = lazy(() => import("./GraphView"));

/** The graph of the workflow that a job belongs to: drawn, or as a list; and what is known about the chosen job. */
export function JobGraph({ id, looksForFailures = false }: JobGraphProps) {
  const graph = useGraph(id);
  return (
    <Answer query={graph}>
      {(data) => <Shown id={id} first={(looksForFailures && data.items.find(({ status }) => status === "failed")?.job_id) || id} graph={data} />}
    </Answer>
  );
}

interface JobGraphProps {
  id: string;
  /** Begins with a job that failed, if there is one, instead of this one. */
  looksForFailures?: boolean;
}

function Shown({ id, first, graph }: { id: string; first: string; graph: Schemas["JobGraph"] }) {
  const [filters, change] = useFilters();
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const jobs = graph.items;
  const canFold = useMemo(() => groupsOf(jobs).size > 0, [jobs]);
  const folds = canFold && (filters["fold"] ? filters["fold"] === "yes" : jobs.length > FOLDS_BEYOND);
  const wanted = useMemo(() => drawnGraph(jobs, folds, opened), [jobs, folds, opened]);
  const tooMany = canFold && wanted.nodes.length > MOST_DRAWN;
  const drawn = useMemo(() => (tooMany ? drawnGraph(jobs, true, new Set()) : wanted), [jobs, tooMany, wanted]);
  const openGroup = useCallback((group: string) => setOpened((known) => new Set([...known, group])), []);
  const isNarrow = useMediaQuery("(max-width: 40em)", false, { getInitialValueInEffect: false });
  const asList = filters["view"] ? filters["view"] === "list" : isNarrow; // a graph on a phone cannot be read
  const chosen = filters["node"] ?? first;
  const job = jobs.find(({ job_id }) => job_id === chosen) ?? jobs.find(({ job_id }) => job_id === id);
  if (jobs.length <= 1) {
    return (
      <Card>
        <EmptyState
          title="This job depends on no other, and none depends on it"
          text="A job that runs after others makes a workflow:"
          command={`tickwork job create --name after --task TASK --depends-on ${id}`}
        />
      </Card>
    );
  }
  return (
    <>
      <div className={classes.tools}>
        <SegmentedControl
          aria-label="How to show the graph"
          data={[
            { value: "graph", label: "Graph" },
            { value: "list", label: "List" },
          ]}
          value={asList ? "list" : "graph"}
          onChange={(view) => change({ view: (view === "list") === isNarrow ? undefined : view })}
        />
        {canFold && !asList && <Switch label="Fold wide groups" checked={folds} onChange={(event) => change({ fold: event.currentTarget.checked ? "yes" : "no" })} />}
        {opened.size > 0 && !asList && (
          <Button size="compact-xs" variant="default" onClick={() => setOpened(new Set())}>
            Fold again
          </Button>
        )}
        <Counts jobs={jobs} />
        {tooMany && !asList && <span>Too many to draw one by one: the list has them all.</span>}
        {graph.truncated && <span>Only the nearest {jobs.length.toLocaleString("en")} jobs are shown.</span>}
      </div>
      <div className={classes.side}>
        {asList ? (
          <GraphList jobs={jobs} onChoose={(node) => change({ node })} />
        ) : (
          <div>
            <Suspense fallback={<div style={{ height: 460 }} />}>
              <GraphView
                graph={drawn}
                chosen={chosen}
                onChoose={(node) => change({ node })}
                onOpenGroup={openGroup}
                height="max(420px, calc(100dvh - 300px))"
              />
            </Suspense>
            <Legend />
          </div>
        )}
        {job && <NodePanel job={job} jobs={jobs} onChoose={(node) => change({ node })} />}
      </div>
    </>
  );
}

function Counts({ jobs }: { jobs: readonly GraphJob[] }) {
  return (
    <span className={classes.counts} role="status">
      {stateCounts(jobs).map(({ state, count }) => (
        <StateBadge
          key={state}
          look={state === "none" ? { ...UNKNOWN_LOOK, word: "Not run" } : lookOf(EXECUTION_LOOKS, state)}
          detail={count.toLocaleString("en")}
        />
      ))}
    </span>
  );
}

const line = { y1: 4, y2: 4, x2: 24, strokeWidth: 2 };

function Legend() {
  return (
    <div className={classes.legend} aria-hidden>
      <span>
        <svg width="24" height="8"><line {...line} stroke="var(--state-completed)" /></svg> satisfied
      </span>
      <span>
        <svg width="24" height="8"><line {...line} stroke="var(--line-strong)" strokeDasharray="5 4" /></svg> waiting
      </span>
      <span>
        <svg width="24" height="8"><line {...line} stroke="var(--state-failed)" strokeWidth={3} strokeDasharray="5 4" /></svg> behind a failure
      </span>
    </div>
  );
}
