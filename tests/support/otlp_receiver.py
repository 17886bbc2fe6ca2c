"""An OpenTelemetry collector on loopback: takes spans over OTLP/HTTP and keeps them."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1 import trace_pb2

from support.waiting import eventually

WITHIN = 60.0


class ReceivedSpan(NamedTuple):
    service: str
    name: str
    kind: str  # "SERVER", "CONSUMER"…
    trace_id: str
    span_id: str
    parent_id: str  # empty for a root
    links: list[tuple[str, str]]  # trace and span
    attributes: dict[str, Any]
    status: str  # "UNSET", "OK", "ERROR"
    events: list[str]

    @property
    def traceparent(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-01"


class OtlpReceiver:
    def __init__(self) -> None:
        self.spans: list[ReceivedSpan] = []
        self.url = ""

    def env(self, **more: str) -> dict[str, str]:
        """For a process that is to send its spans here, soon."""
        return {
            "TICKWORK_TRACING": "true",
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.url,
            "OTEL_BSP_SCHEDULE_DELAY": "50",
            **more,
        }

    async def receive(self, request: web.Request) -> web.Response:
        sent = ExportTraceServiceRequest.FromString(await request.read())
        self.spans += _spans(sent)
        return web.Response(
            body=ExportTraceServiceResponse().SerializeToString(), content_type="application/x-protobuf"
        )

    def of_trace(self, trace_id: str) -> list[ReceivedSpan]:
        return [span for span in self.spans if span.trace_id == trace_id]

    async def span(self, name: str, **attributes: Any) -> ReceivedSpan:
        """The first one of this name with these attributes, where __ stands for a dot, once it has arrived."""
        wanted = {key.replace("__", "."): value for key, value in attributes.items()}
        return await eventually(
            lambda: next(
                (
                    span
                    for span in self.spans
                    if span.name == name and wanted.items() <= span.attributes.items()
                ),
                None,
            ),
            within=WITHIN,
            what=f"the span {name!r} with {wanted}",
        )

    async def chain_to(self, span: ReceivedSpan, *, caller: str = "") -> list[ReceivedSpan]:
        """The spans from the root of its trace to this one, once they have arrived. `caller`: the id of a span that
        was recorded elsewhere and counts as the root."""
        chain = [span]
        while chain[0].parent_id not in ("", caller):
            chain.insert(0, await self._parent(chain[0]))
        return chain

    async def _parent(self, span: ReceivedSpan) -> ReceivedSpan:
        return await eventually(
            lambda: next(
                (each for each in self.of_trace(span.trace_id) if each.span_id == span.parent_id), None
            ),
            within=WITHIN,
            what=f"the parent of {span.name!r}",
        )


@asynccontextmanager
async def receiving_spans() -> AsyncIterator[OtlpReceiver]:
    receiver = OtlpReceiver()
    application = web.Application()
    application.router.add_post("/v1/traces", receiver.receive)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    receiver.url = f"http://{host}:{port}"
    try:
        yield receiver
    finally:
        await asyncio.shield(runner.cleanup())


def _spans(sent: ExportTraceServiceRequest) -> Iterator[ReceivedSpan]:
    for of_resource in sent.resource_spans:
        service = _attributes(of_resource.resource.attributes)["service.name"]
        for of_scope in of_resource.scope_spans:
            for span in of_scope.spans:
                yield ReceivedSpan(
                    service=service,
                    name=span.name,
                    kind=trace_pb2.Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
                    trace_id=span.trace_id.hex(),
                    span_id=span.span_id.hex(),
                    parent_id=span.parent_span_id.hex(),
                    links=[(link.trace_id.hex(), link.span_id.hex()) for link in span.links],
                    attributes=_attributes(span.attributes),
                    status=trace_pb2.Status.StatusCode.Name(span.status.code).removeprefix("STATUS_CODE_"),
                    events=[event.name for event in span.events],
                )


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair) for pair in pairs}


def _value(pair: KeyValue) -> Any:
    return getattr(pair.value, pair.value.WhichOneof("value") or "string_value")
