"""Graphs of jobs by chance, and a small model that says what must become of each of their nodes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal

import msgspec

from tickwork.model.condition import Condition
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

    def holds(self, n: int) -> bool:
        return self.condition is None or (n == 1, n > 0, n not in (0, 2))[self.condition]

    def needs(self, parent: str) -> str | Dependency:
        if self.condition is not None:
            return Dependency(parent, when=msgspec.convert(_CONDITIONS[self.condition], Condition))
        return parent if self.on == "success" else Dependency(parent, self.on)


@dataclass(frozen=True)
class Node:
    script: Script
    retries: int  # how often it fails before that
    n: int  # in its result
    edges: Sequence[Edge] = field(default=())

    @property
    def result(self) -> bytes:
        return b'{"n": %d}' % self.n


def graph_by_chance(chance: Random, most: int) -> list[Node]:
    """Each node depends on nodes before it."""
    return [_node(chance, place) for place in range(chance.randint(2, most))]


def _node(chance: Random, place: int) -> Node:
    parents = chance.sample(range(place), k=min(place, chance.choice((0, 1, 1, 1, 2, 2, 3))))
    return Node(
        script=chance.choices(("completes", "fails", "is cancelled"), (6, 3, 1))[0],
        retries=chance.choice((0, 0, 0, 1)),
        n=chance.randrange(3),
        edges=[_edge(chance, parent) for parent in parents],
    )


def _edge(chance: Random, parent: int) -> Edge:
    if chance.random() < 0.25:
        return Edge(parent, condition=chance.randrange(len(_CONDITIONS)))
    return Edge(parent, chance.choices(("success", "failure", "any outcome"), (5, 2, 2))[0])


def request_of(node: Node, place: int, names: Sequence[str], **fields: Any) -> JobRequest:
    """`names`: of the nodes before it."""
    depends_on = [edge.needs(names[edge.parent]) for edge in node.edges]
    return JobRequest(task="work", ref=f"n{place}", depends_on=depends_on, **fields)


def outcomes(graph: Sequence[Node]) -> list[State]:
    """What must become of each node, whatever the order in which things happen."""
    states: list[State] = []
    for node in graph:
        states.append(_outcome(node, [_verdict(edge, graph, states) for edge in node.edges]))
    return states


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
            return "met" if edge.on == "success" and edge.holds(graph[edge.parent].n) else "not taken"
        case "not taken":
            return "left out" if edge.on == "success" and edge.condition is None else "not taken"
        case "failed" if edge.on == "failure":
            return "met"
    return "blocked"
