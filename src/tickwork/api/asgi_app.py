"""Builds the ASGI app: all routes of the API, the pages of the docs and the dashboard, and the WebSocket of workers."""

import re
from collections.abc import Iterable
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Match, WebSocketRoute
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from tickwork.api import (
    accept_worker_websocket,
    api_key_routes,
    backfill_routes,
    bulk_routes,
    callback_routes,
    channel_routes,
    checkpoint_routes,
    circuit_breaker_routes,
    cluster_nodes_and_database_routes,
    create_job_batch_route,
    dashboard_pages,
    dead_letter_routes,
    docs_pages,
    error_routes,
    event_routes,
    execution_routes,
    health_routes,
    job_routes,
    log_routes,
    notification_rule_and_log_routes,
    outside_ping_routes,
    overview_routes,
    pause_and_resume_cluster_routes,
    ping_routes,
    ping_token_routes,
    queue_routes,
    rest_worker_routes,
    retention_routes,
    schedule_routes,
    session_routes,
    stats_routes,
    task_routes,
    tenant_routes,
    timeline_routes,
    upcoming_routes,
    worker_routes,
    workflow_list_route,
)
from tickwork.api.handle_request import Endpoint
from tickwork.api.openapi import with_document
from tickwork.api.route import SENT_SLASH, Route
from tickwork.node import Node

ROUTES = with_document(
    (
        *job_routes.ROUTES,
        *create_job_batch_route.ROUTES,
        *bulk_routes.ROUTES,
        *execution_routes.ROUTES,
        *checkpoint_routes.ROUTES,
        *rest_worker_routes.ROUTES,
        *callback_routes.ROUTES,
        *log_routes.ROUTES,
        *dead_letter_routes.ROUTES,
        *error_routes.ROUTES,
        *event_routes.ROUTES,
        *notification_rule_and_log_routes.ROUTES,
        *overview_routes.ROUTES,
        *timeline_routes.ROUTES,
        *stats_routes.ROUTES,
        *backfill_routes.ROUTES,
        *schedule_routes.ROUTES,
        *upcoming_routes.ROUTES,
        *circuit_breaker_routes.ROUTES,
        *channel_routes.ROUTES,
        *queue_routes.ROUTES,
        *retention_routes.ROUTES,
        *worker_routes.ROUTES,
        *task_routes.ROUTES,
        *api_key_routes.ROUTES,
        *tenant_routes.ROUTES,
        *session_routes.ROUTES,
        *workflow_list_route.ROUTES,
        *ping_routes.ROUTES,
        *ping_token_routes.ROUTES,
        *outside_ping_routes.ROUTES,
        *cluster_nodes_and_database_routes.ROUTES,
        *pause_and_resume_cluster_routes.ROUTES,
        *health_routes.ROUTES,
    )
)


_SLASH = re.compile("%2F", re.IGNORECASE)


def build_app(node: Node) -> Starlette:
    """The caller starts and stops the node."""
    app = Starlette(
        routes=[
            _Resources(_endpoints(node, (*ROUTES, *docs_pages.PAGES, *dashboard_pages.PAGES))),
            WebSocketRoute(accept_worker_websocket.PATH, accept_worker_websocket.WorkerSocketApp(node)),
        ]
    )
    app.router.redirect_slashes = False  # a redirect would answer without a key
    app.router.default = _unknown_path(node)
    return app


def _endpoints(node: Node, routes: Iterable[Route]) -> list["_Path"]:
    """One endpoint per path. The first match is used, so /jobs/batch must come before /jobs/{id}."""
    by_path: dict[str, list[Route]] = {}
    for route in routes:
        by_path.setdefault(route.path, []).append(route)
    paths = sorted(by_path, key=lambda path: "{" in path)
    return [_Path(path, Endpoint(node, path, by_path[path])) for path in paths]


class _Resources(BaseRoute):
    """All paths, looked up by the name of the resource: trying a hundred in turn would cost more than many answers."""

    def __init__(self, paths: Iterable["_Path"]) -> None:
        self._by_resource: dict[str, list[_Path]] = {}
        for path in paths:
            self._by_resource.setdefault(_resource(path.path), []).append(path)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] == "http":
            for path in self._by_resource.get(_resource(scope["path"]), ()):
                match, found = path.matches(scope)
                if match is not Match.NONE:
                    return match, {**found, "tickwork.path": path}
        return Match.NONE, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope["tickwork.path"].handle(scope, receive, send)


def _resource(path: str) -> str:
    """The first name in a path, after the version: jobs of /v1/jobs/j1/run. No path has a parameter in its place."""
    first, _, rest = path[1:].partition("/")
    return f"v1/{rest.partition('/')[0]}" if first == "v1" else first


class _Path(StarletteRoute):
    """A slash sent as %2F, as in key:a%2Fb, is part of a name and does not separate path segments."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        raw: bytes = scope.get("raw_path", b"")
        if scope["type"] == "http" and b"%2F" in raw.upper():
            path = unquote(_SLASH.sub(SENT_SLASH, raw.decode("latin-1")))
            return super().matches({**scope, "path": path})
        return super().matches(scope)


def _unknown_path(node: Node) -> ASGIApp:
    endpoint = Endpoint(node, "unknown", ())

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await WebSocketClose()(scope, receive, send)
        else:
            await endpoint(scope, receive, send)

    return answer
