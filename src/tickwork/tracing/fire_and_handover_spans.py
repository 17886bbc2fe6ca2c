"""The spans of a server, `fire` and `hand over`, for executions that are sampled.

They are recorded after the commit, with ids that every node derives alike. That is why they are made as finished spans
and not with a tracer, which would draw the ids at random.
"""

from collections.abc import Mapping, Sequence
from random import getrandbits
from time import time_ns
from typing import NamedTuple

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind
from opentelemetry.util.types import AttributeValue

from tickwork import __version__
from tickwork.model.current_span_and_job_origin import read_origin, traceparent_of
from tickwork.model.public_ids import execution_id, from_micros, job_id
from tickwork.store.port.dispatch import ExecutionColumns, Lane
from tickwork.tracing.opentelemetry_setup import SCOPE, SpanPipeline
from tickwork.tracing.span_from_traceparent import remote_span
from tickwork.tracing.trace_ids_of_executions import SAMPLED, ExecutionTraces

_SCOPE = InstrumentationScope(SCOPE, __version__)
_FIRST_ATTEMPT = 1


class _Place(NamedTuple):
    """Where a span is in its trace."""

    span: SpanContext
    parent: SpanContext | None
    links: Sequence[Link] = ()


class ServerSpans:
    def __init__(self, pipeline: SpanPipeline, traces: ExecutionTraces) -> None:
        self._traces = traces
        self._last_sampled: tuple[ExecutionColumns | None, Sequence[int]] = (None, ())
        self._resource = pipeline.resource
        self._export = pipeline.processor.on_end

    def fired(
        self,
        executions: ExecutionColumns,
        origins: Sequence[str | None],
        skipped: Mapping[int, str],
        began: int,
    ) -> None:
        """`origins`: of the jobs. `skipped`: the reasons of those that will not run. `began`: in nanoseconds."""
        ended = time_ns()
        for index in self._sampled(executions):
            trace = self._traces.trace(executions.jobs[index], executions.times[index])
            attributes = {
                "messaging.message.id": _execution_id(executions, index),
                "tickwork.job.id": job_id(executions.jobs[index]),
            }
            if index in skipped:
                attributes["tickwork.skipped"] = skipped[index]
            self._record(
                f"fire {executions.tasks[index]}",
                SpanKind.INTERNAL,
                _Place(trace.root, None, _links(origins[index])),
                attributes,
                (began, ended),
            )

    def handed_over(
        self, executions: ExecutionColumns, lanes: Mapping[int, Lane], began: int
    ) -> dict[int, str]:
        """The traceparents for the spans that the worker makes, by index."""
        ended = time_ns()
        parents = _parents(executions.trace_origins)
        sampled = {*self._sampled(executions), *parents}
        traceparents = {}
        for index in sampled:
            place = self._handover_place(executions, index, parents.get(index))
            attributes: dict[str, AttributeValue] = {
                "messaging.system": "tickwork",
                "messaging.operation.name": "hand over",
                "messaging.destination.name": lanes[executions.lanes[index]].queue,
                "messaging.message.id": _execution_id(executions, index),
                "tickwork.attempt": executions.attempts[index],
            }
            name = f"hand over {executions.tasks[index]}"
            self._record(name, SpanKind.PRODUCER, place, attributes, (began, ended))
            traceparents[index] = traceparent_of(place.span)
        return traceparents

    def _sampled(self, executions: ExecutionColumns) -> Sequence[int]:
        """Remembered, because most of what is fired is handed over at once."""
        last, indexes = self._last_sampled
        if last is not executions:
            indexes = self._traces.sampled(executions.jobs, executions.times)
            self._last_sampled = executions, indexes
        return indexes

    def _handover_place(self, executions: ExecutionColumns, index: int, parent: SpanContext | None) -> _Place:
        if parent:
            return _Place(_new_span(parent.trace_id), parent)
        trace = self._traces.trace(executions.jobs[index], executions.times[index])
        origin = executions.trace_origins[index]
        if origin is None or executions.attempts[index] > _FIRST_ATTEMPT:
            return _Place(_new_span(trace.trace_id), trace.root)
        return _Place(trace.root, None, _links(origin))

    def _record(
        self,
        name: str,
        kind: SpanKind,
        place: _Place,
        attributes: Mapping[str, AttributeValue],
        times: tuple[int, int],
    ) -> None:
        began, ended = times
        self._export(
            ReadableSpan(
                name,
                context=place.span,
                parent=place.parent,
                links=place.links,
                kind=kind,
                attributes=attributes,
                start_time=began,
                end_time=ended,
                resource=self._resource,
                instrumentation_scope=_SCOPE,
            )
        )


def _parents(origins: Sequence[str | None]) -> dict[int, SpanContext]:
    """The spans whose traces the executions continue, by index."""
    if not any(origins):
        return {}
    read = {index: read_origin(text) for index, text in enumerate(origins) if text}
    return {
        index: remote_span(origin.traceparent)
        for index, origin in read.items()
        if origin.relation == "parent"
    }


def _links(origin: str | None) -> Sequence[Link]:
    return [Link(remote_span(read_origin(origin).traceparent))] if origin else ()


def _new_span(trace_id: int) -> SpanContext:
    return SpanContext(trace_id, getrandbits(64), is_remote=False, trace_flags=SAMPLED)


def _execution_id(executions: ExecutionColumns, index: int) -> str:
    return execution_id(executions.jobs[index], from_micros(executions.times[index]))
