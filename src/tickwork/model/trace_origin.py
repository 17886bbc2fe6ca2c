"""The span of the request that defined a job, which is stored with the job if it was sampled.

A one-time job that is due at once continues the trace of the request: the span is the parent of what happens. Any
other job runs later, perhaps for years: each of its executions has a trace of its own, which only links to the span.
"""

from typing import Literal, NamedTuple

from tickwork.model.schedule import Once, Schedule


class TraceOrigin(NamedTuple):
    relation: Literal["parent", "link"]
    traceparent: str

    def text(self) -> str:
        return f"{self.relation} {self.traceparent}"


def origin_of(schedule: Schedule, traceparent: str) -> TraceOrigin:
    due_at_once = isinstance(schedule, Once) and schedule.at is None
    return TraceOrigin("parent" if due_at_once else "link", traceparent)


def read_origin(text: str) -> TraceOrigin:
    relation, _, traceparent = text.partition(" ")
    return TraceOrigin("parent" if relation == "parent" else "link", traceparent)
