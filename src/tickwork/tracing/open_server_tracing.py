"""Opens the spans of a server node, if tracing is on."""

import asyncio
from contextlib import AsyncExitStack
from os import environ
from typing import TYPE_CHECKING

from tickwork.config import Settings
from tickwork.store.migrate import trace_seed
from tickwork.store.pool import Database
from tickwork.tracing.opentelemetry_setup import SpanPipeline, open_pipeline, sampling_rate, tracing_is_on
from tickwork.tracing.trace_ids_of_executions import ExecutionTraces

if TYPE_CHECKING:
    from tickwork.tracing.fire_and_handover_spans import ServerSpans


def open_server_pipeline(settings: Settings, opening: AsyncExitStack) -> SpanPipeline | None:
    """`opening` closes it again. None: tracing is off."""
    if not tracing_is_on(settings):
        return None
    pipeline = open_pipeline("tickwork-server")
    opening.push_async_callback(asyncio.to_thread, pipeline.close)
    return pipeline


async def make_server_spans(pipeline: SpanPipeline, database: Database) -> "ServerSpans":
    from tickwork.tracing.fire_and_handover_spans import ServerSpans  # noqa: PLC0415 (needs the SDK, which is an extra)

    return ServerSpans(pipeline, ExecutionTraces(await trace_seed(database), sampling_rate(environ)))
