"""Graphs of jobs by chance, and a small model that says what must become of each of their nodes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal

import msgspec

from tickwork.model.condition import Condition
from tickwork.model.for_each import ForEach
from tickwork.model.job import Dependency, JobRequest, NeededOutcome

Script = Literal["completes", "fails", "is cancelled"]
State = Literal["completed", "failed", "cancelled", "not taken", "blocked"]
_ENDS: dict[Script, State] = {"completes": "completed", "fails": "failed", "is cancelled": "cancelled"}
_CONDITIONS: tuple[dict[str, Any], ...] = (
    {"path": "n", "equals": 1},
    {"path": "n", "greater": 0},
    {"not": {"path": "n", "in": [0, 2]}},
)


@dataclass(frozen=True)
class Edge:
    parent: int
    on: NeededOutcome = "success"
    condition: int | None = None  # one of the conditions above
    for_each: bool = False  # of the list in the parent's result

    def holds(self, parent: "Node") -> bool:
        n = -1 if parent.fans_out else parent.n  # the result of what fans out is a list, without n
        return self.condition is None or (n == 1, n > 0, n not in (0, 2))[self.condition]

    def needs(self, parent: str) -> str | Dependency:
        if self.for_each:
            return Dependency(parent, for_each=ForEach("list", "element"))
        if self.condition is not None:
            return Dependency(parent, when=msgspec.convert(_CONDITIONS[self.condition], Condition))
        return parent if self.on == "success" else Dependency(parent, self.on)


@dataclass(frozen=True)
class Node:
    script: Script
    retries: int  # how often it fails before that
    n: int  # in its result
    edges: Sequence[Edge] = field(default=())  # the script of a node that fans out is that of its elements

    @property
    def result(self) -> bytes:
        return b'{"n": %d, "list": %s}' % (self.n, msgspec.json.encode([*range(self.n)]))

    @property
    def fans_out(self) -> bool:
        return any(edge.for_each for edge in self.edges)


# A list, what runs for each of its elements, and what runs after all of them.
FANNED_OUT = (
    Node("completes", 0, 2),
    Node("completes", 0, 1, (Edge(0, for_each=True),)),
    Node("completes", 0, 1, (Edge(1),)),
)


def graph_by_chance(chance: Random, most: int) -> list[Node]:
    """Each node depends on nodes before it."""
    return [_node(chance, place) for place in range(chance.randint(2, most))]


def _node(chance: Random, place: int) -> Node:
    parents = chance.sample(range(place), k=min(place, chance.choice((0, 1, 1, 1, 2, 2, 3))))
    edges = [_edge(chance, parent) for parent in parents]
    if edges and edges[0] == Edge(parents[0]) and chance.random() < 0.3:
        edges[0] = Edge(parents[0], for_each=True)
    return Node(
        script=chance.choices(("completes", "fails", "is cancelled"), (6, 3, 1))[0],
        retries=chance.choice((0, 0, 0, 1)),
        n=chance.randrange(3),
        edges=edges,
    )


def _edge(chance: Random, parent: int) -> Edge:
    if chance.random() < 0.25:
        return Edge(parent, condition=chance.randrange(len(_CONDITIONS)))
    return Edge(parent, chance.choices(("success", "failure", "any outcome"), (5, 2, 2))[0])


def request_of(node: Node, place: int, names: Sequence[str], **fields: Any) -> JobRequest:
    """`names`: of the nodes before it."""
    depends_on = [edge.needs(names[edge.parent]) for edge in node.edges]
    return JobRequest(**{"task": "work", **fields}, ref=f"n{place}", depends_on=depends_on)


def payload_of(node: Node) -> dict[str, Any]:
    """For a task that does what its payload says."""
    return {"script": node.script, "retries": node.retries, "n": node.n}


def outcomes(graph: Sequence[Node]) -> list[State]:
    """What must become of each node, whatever the order in which things happen."""
    states: list[State] = []
    for node in graph:
        outcome = _outcome(node, [_verdict(edge, graph, states) for edge in node.edges])
        ran = outcome in _ENDS.values()
        states.append(_after_elements(node, graph, states) if ran and node.fans_out else outcome)
    return states


def _after_elements(node: Node, graph: Sequence[Node], states: Sequence[State]) -> State:
    """What becomes of a node that fans out, as its elements end."""
    parent = next(edge.parent for edge in node.edges if edge.for_each)
    if states[parent] == "not taken":
        return "not taken"
    if graph[parent].fans_out:
        return "failed"  # its result is a list itself: there is none at the path
    return "completed" if node.script == "completes" or graph[parent].n == 0 else "blocked"


def _outcome(node: Node, verdicts: Sequence[str]) -> State:
    if "not taken" in verdicts:
        return "not taken"
    if "blocked" in verdicts:
        return "blocked"
    if verdicts and {*verdicts} == {"left out"}:
        return "not taken"
    return _ENDS[node.script]


def _verdict(edge: Edge, graph: Sequence[Node], states: Sequence[State]) -> str:
    if edge.on == "any outcome":
        return "met"
    match states[edge.parent]:
        case "completed":
            return "met" if edge.on == "success" and edge.holds(graph[edge.parent]) else "not taken"
        case "not taken":
            return "left out" if edge.on == "success" and edge.condition is None else "not taken"
        case "failed" if edge.on == "failure":
            return "met"
    return "blocked"
