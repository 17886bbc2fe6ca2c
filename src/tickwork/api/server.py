"""The whole API as one ASGI app."""

from collections.abc import Iterable

from starlette.applications import Starlette
from starlette.routing import BaseRoute, WebSocketRoute
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from tickwork.api import (
    backfills,
    batch,
    breakers,
    connect,
    dead_letters,
    docs,
    executions,
    health,
    jobs,
    keys,
    logs,
    queues,
    reports,
    schedules,
    tasks,
    workers,
)
from tickwork.api.endpoint import Endpoint
from tickwork.api.node import ServerNode
from tickwork.api.openapi import with_document
from tickwork.api.route import Route

ROUTES = with_document(
    (
        *jobs.ROUTES,
        *batch.ROUTES,
        *executions.ROUTES,
        *reports.ROUTES,
        *logs.ROUTES,
        *dead_letters.ROUTES,
        *backfills.ROUTES,
        *schedules.ROUTES,
        *breakers.ROUTES,
        *queues.ROUTES,
        *workers.ROUTES,
        *tasks.ROUTES,
        *keys.ROUTES,
        *health.ROUTES,
    )
)


def build_app(node: ServerNode) -> Starlette:
    """The node is started and stopped by whoever made it."""
    app = Starlette(
        routes=[
            *_endpoints(node, (*ROUTES, *docs.PAGES)),
            WebSocketRoute(connect.PATH, connect.Connector(node)),
        ]
    )
    app.router.redirect_slashes = False  # it would answer without a key
    app.router.default = _nothing_here(node)
    return app


def _endpoints(node: ServerNode, routes: Iterable[Route]) -> list[BaseRoute]:
    """One for each path. The first that fits answers, so /jobs/batch must stand before /jobs/{id}."""
    by_path: dict[str, list[Route]] = {}
    for route in routes:
        by_path.setdefault(route.path, []).append(route)
    paths = sorted(by_path, key=lambda path: "{" in path)
    return [StarletteRoute(path, Endpoint(node, path, by_path[path])) for path in paths]


def _nothing_here(node: ServerNode) -> ASGIApp:
    endpoint = Endpoint(node, "unknown", ())

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await WebSocketClose()(scope, receive, send)
        else:
            await endpoint(scope, receive, send)

    return answer
