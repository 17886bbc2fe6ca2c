import { Skeleton, useComputedColorScheme } from "@mantine/core";
import { Background, Controls, type Edge, Handle, MarkerType, MiniMap, type Node, type NodeProps, Position, ReactFlow } from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { memo, useMemo } from "react";
import { StateIcon } from "../parts/StateIcon";
import { executionLook, UNKNOWN_LOOK } from "../parts/states";
import { formatDuration } from "../time/formatDuration";
import classes from "./Graph.module.css";
import { type DrawnGraph, type DrawnNode, type GraphJob, isNotTaken, stateCounts } from "./graphModel";
import { NODE_HEIGHT, NODE_WIDTH, type Places } from "./layout";
import { useLayout } from "./useLayout";

export interface GraphViewProps {
  graph: DrawnGraph;
  /** The job that the page is about, or that is chosen. */
  chosen: string | undefined;
  onChoose: (id: string) => void;
  onOpenGroup: (id: string) => void;
  height?: number | string;
}

type JobNode = Node<{ drawn: DrawnNode; chosen: boolean; onOpenGroup: (id: string) => void }, "job">;

const NODE_TYPES = { job: memo(JobBox, looksTheSame) };
const WITH_MAP = [12, 1000] as const; // nodes: a smaller graph needs no map, and a larger one makes it slow
const SHOWN_WHOLE = 120; // nodes: of a larger graph, the part around the chosen job is shown first

/** The graph, from left to right. A solid edge is satisfied, a dashed one waits; a border tells what is out of the ordinary. */
export default function GraphView({ graph, chosen, onChoose, onOpenGroup, height = 460 }: GraphViewProps) {
  const places = useLayout(graph);
  const scheme = useComputedColorScheme("light");
  const nodes = useMemo(() => (places ? nodesOf(graph, places, chosen, onOpenGroup) : []), [graph, places, chosen, onOpenGroup]);
  const edges = useMemo(() => graph.edges.map(edgeOf), [graph]);
  const isLarge = graph.nodes.length > SHOWN_WHOLE;
  if (!places) return <Skeleton height={height} />;
  return (
    <div className={classes.graph} style={{ height }}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        colorMode={scheme}
        onNodeClick={(_event, { data }) => {
          if (!data.drawn.isGroup) onChoose(data.drawn.id);
        }}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
        elementsSelectable
        onlyRenderVisibleElements
        fitView
        fitViewOptions={isLarge ? { nodes: around(graph, chosen), minZoom: 0.6, maxZoom: 0.9 } : { padding: 0.15, maxZoom: 1 }}
        minZoom={isLarge ? 0.15 : 0.3}
        aria-label="Graph of the workflow"
      >
        <Background gap={20} size={1} color="var(--line)" />
        <Controls showInteractive={false} />
        {nodes.length > WITH_MAP[0] && nodes.length <= WITH_MAP[1] && <MiniMap pannable zoomable bgColor="var(--page)" maskColor="color-mix(in srgb, var(--line) 60%, transparent)" nodeColor={(node) => lookOfNode((node as JobNode).data.drawn).color} ariaLabel="Map of the graph" />}
      </ReactFlow>
    </div>
  );
}

/** The node of the chosen job; without one, the first. */
function around({ nodes }: DrawnGraph, chosen: string | undefined): { id: string }[] {
  const found = nodes.find(({ jobs }) => jobs.some(({ job_id }) => job_id === chosen)) ?? nodes[0];
  return found ? [{ id: found.id }] : [];
}

/** Live events make all data new; only what looks otherwise is drawn again. */
function looksTheSame(one: NodeProps<JobNode>, other: NodeProps<JobNode>): boolean {
  return one.data.chosen === other.data.chosen && one.data.onOpenGroup === other.data.onOpenGroup && face(one.data.drawn) === face(other.data.drawn);
}

function face(drawn: DrawnNode): string {
  return [drawn.state, drawn.waitingFor, nameOf(drawn), drawn.isGroup ? groupWords(drawn.jobs) : drawn.jobs[0]?.finished_at].join(" ");
}

function nodesOf(graph: DrawnGraph, places: Places, chosen: string | undefined, onOpenGroup: (id: string) => void): JobNode[] {
  return graph.nodes.flatMap((drawn) => {
    const position = places[drawn.id];
    if (!position) return [];
    const isChosen = drawn.jobs.some(({ job_id }) => job_id === chosen);
    return [
      {
        id: drawn.id,
        type: "job" as const,
        position,
        width: NODE_WIDTH,
        height: NODE_HEIGHT,
        data: { drawn, chosen: isChosen, onOpenGroup },
        ariaLabel: `${nameOf(drawn)}, ${lookOfNode(drawn).word}`,
      },
    ];
  });
}

function edgeOf({ id, from, to, satisfied, failed, words }: DrawnGraph["edges"][number]): Edge {
  const color = failed ? "var(--state-failed)" : satisfied ? "var(--state-completed)" : "var(--line-strong)";
  return {
    id,
    source: from,
    target: to,
    type: "smoothstep",
    focusable: false,
    ...(words ? { label: words, labelStyle: { fill: "var(--ink)", fontSize: 11 }, labelBgStyle: { fill: "var(--card)" } } : {}),
    style: { stroke: color, strokeWidth: failed ? 2.5 : 1.5, ...(satisfied ? {} : { strokeDasharray: "5 4" }) },
    markerEnd: { type: MarkerType.ArrowClosed, color, width: 14, height: 14 },
  };
}

function JobBox({ data }: NodeProps<JobNode>) {
  const { drawn, chosen, onOpenGroup } = data;
  const look = lookOfNode(drawn);
  return (
    <div className={classes.node} data-state={drawn.state} data-group={drawn.isGroup || undefined} data-chosen={chosen || undefined}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <StateIcon look={look} size={18} labelled />
      <div className={classes.nodeWords}>
        <span className={classes.nodeName}>{nameOf(drawn)}</span>
        <span className={classes.nodeDetail}>{drawn.isGroup ? groupWords(drawn.jobs) : durationWords(drawn.jobs[0], look.word)}</span>
      </div>
      {drawn.isGroup && (
        <button type="button" className={`${classes.unfold} nodrag`} onClick={() => onOpenGroup(drawn.id)}>
          Unfold
        </button>
      )}
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  );
}

function lookOfNode({ state, waitingFor, jobs }: DrawnNode) {
  if (state === "none") return { ...UNKNOWN_LOOK, word: "Not run yet" };
  const look = executionLook(state, waitingFor);
  return state === "skipped" && jobs.every((job) => job.status !== "skipped" || isNotTaken(job)) ? { ...look, word: "Not taken" } : look;
}

function nameOf({ jobs, isGroup }: DrawnNode): string {
  const first = jobs[0];
  if (isGroup) return `${jobs.length.toLocaleString("en")} × ${first?.task ?? ""}`;
  return first?.name ?? first?.key ?? first?.job_id ?? "";
}

function groupWords(jobs: readonly GraphJob[]): string {
  return stateCounts(jobs).map(({ state, count }) => `${count.toLocaleString("en")} ${state === "none" ? "not run" : state}`).join(", ");
}

function durationWords(job: GraphJob | undefined, word: string): string {
  if (!job?.started_at || !job.finished_at) return word;
  return `${word}, ${formatDuration((Date.parse(job.finished_at) - Date.parse(job.started_at)) / 1000)}`;
}
