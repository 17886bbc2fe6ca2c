"""Serves the metrics of a worker process, without a key: they contain no names but those of Tickwork."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, Metric, generate_latest
from prometheus_client.registry import Collector
from starlette.types import Receive, Scope, Send

from tickwork.api.http_server_with_limits import HttpServer
from tickwork.cli.output import say
from tickwork.cli.server_command import PortInUse, listen, url_of
from tickwork.model.errors import TickworkError

_PATH = "/metrics"
_MAX_CONNECTIONS = 20
_OWN_METRICS = ("tickwork_worker_", "process_", "python_")


@asynccontextmanager
async def serving_metrics(host: str, port: int) -> AsyncIterator[None]:
    try:
        listener = listen(host, port)
    except PortInUse:
        raise TickworkError(
            f"port {port} is in use by another program; choose another --metrics-port"
        ) from None
    with listener:
        server = HttpServer(_answer, _MAX_CONNECTIONS)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        await server.ready.wait()
        say(f"metrics of this worker: {url_of(listener)}{_PATH}")
        try:
            yield
        finally:
            server.should_exit = True
            await serving


async def _answer(scope: Scope, _receive: Receive, send: Send) -> None:
    found = scope["type"] == "http" and scope["path"] == _PATH and scope["method"] in ("GET", "HEAD")
    body = generate_latest(_WorkerMetrics()) if found else b"the metrics are at /metrics\n"
    kind = CONTENT_TYPE_LATEST if found else "text/plain"
    headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200 if found else 404, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class _WorkerMetrics(Collector):
    """Without those of a node, which this program knows, too: they would say that its database is away."""

    def collect(self) -> Iterable[Metric]:
        return (metric for metric in REGISTRY.collect() if metric.name.startswith(_OWN_METRICS))
