"""Handles every request to one path: admits the caller, reads query and body, calls the handler, sends the response
and measures how long it took."""

from asyncio import to_thread
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from prometheus_client import Histogram
from starlette.types import Receive, Scope, Send

from tickwork.access.trusted_proxies import RequestOrigin
from tickwork.api.auth import (
    ANONYMOUS,
    authenticate,
    authenticate_session,
    check_own_page,
    require,
    session_cookie,
)
from tickwork.api.deprecation import with_deprecation
from tickwork.api.idempotency_key import KEY_HEADER, fingerprint, run_once
from tickwork.api.problem import (
    BROKEN_BODY,
    NOT_ALLOWED,
    NOT_FOUND,
    TRY_AGAIN,
    UNAVAILABLE,
    WRONG_METHOD,
    Refusal,
    refusal_for,
)
from tickwork.api.repeated_headers_and_request_id import RawHeaders, check_headers, request_id_of
from tickwork.api.reply import Reply, send_reply
from tickwork.api.request_body import (
    MAX_BODY_BYTES,
    MEBIBYTE,
    ClientDisconnected,
    RawBody,
    check_media,
    declared_size,
    media_of,
    read_body,
)
from tickwork.api.request_query import parse_query
from tickwork.api.route import Call, Route
from tickwork.api.server_sent_events import send_stream
from tickwork.api.wait_for_execution import cancelled_on_disconnect
from tickwork.model.access import Caller
from tickwork.model.stale_reads import allow_stale_reads
from tickwork.node import Node

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

_request_seconds = Histogram(
    "tickwork_api_request_seconds",
    "Time from the first byte of a request to the last byte of its answer.",
    ["method", "route", "status"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)


def observe(method: str, route: str, status: int, seconds: float) -> None:
    """The labels come from fixed sets, so that clients cannot create new time series."""
    known = method if method in _METHODS else "other"
    _request_seconds.labels(known, route, str(status)).observe(seconds)


MAX_BYTES_IN_PROGRESS = 128 * MEBIBYTE  # of all large requests to one path together
_MAX_BYTES_ON_LOOP = 128 * 1024
_FIRST_REDIRECT = 300
_EMPTY_BODIES = (b"", b"{}")


class Endpoint:
    """An ASGI app for one path; with no routes, for every path that does not exist."""

    def __init__(self, node: Node, path: str, routes: Iterable[Route]) -> None:
        self._node = node
        self._path = path
        self._bytes_in_progress = 0  # bytes of the large requests in progress
        self._routes = {route.method: route for route in routes}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = perf_counter()
        headers: RawHeaders = dict(scope["headers"])
        request_id = request_id_of(headers)
        try:
            reply = await self._reply(scope, headers, receive)
        except ClientDisconnected:
            return
        except Exception as error:  # noqa: BLE001 (a request must be answered, and must not stop the server)
            refusal = refusal_for(error, request_id, method=scope["method"], route=self._path)
            reply = refusal.reply(request_id)
        if reply.stream is None:
            await send_reply(send, reply, request_id)
        observe(scope["method"], self._path, reply.status, perf_counter() - began)
        if reply.stream is not None:
            await send_stream(scope["method"], receive, send, reply, request_id)

    async def _reply(self, scope: Scope, headers: RawHeaders, receive: Receive) -> Reply:
        check_headers(scope, headers)
        route = self._routes.get("GET" if scope["method"] == "HEAD" else scope["method"])
        origin = origin_of(self._node, scope, headers)
        caller = await self._admitted(route, scope["method"], headers, origin)
        if route is None:
            raise self._no_route(scope)
        if route.body is None or route.body.limit <= MAX_BODY_BYTES:
            return await self._answer(route, caller, scope, headers, receive, origin)
        with self._counted(declared_size(headers, route.body.limit)):
            return await self._answer(route, caller, scope, headers, receive, origin)

    async def _answer(
        self,
        route: Route,
        caller: Caller,
        scope: Scope,
        headers: RawHeaders,
        receive: Receive,
        origin: RequestOrigin,
    ) -> Reply:
        query = parse_query(scope["query_string"], route.query) if route.query else None
        raw = await _raw_body(route, headers, receive)
        body = await _body(route, raw, headers)
        call = Call(self._node, caller, headers, scope["path_params"], query, body, origin)
        waits = getattr(query, "wait", None)
        if route.waits or (waits and route.method == "GET"):
            reply = await cancelled_on_disconnect(receive, route.handler(call))
        else:
            reply = await self._work(route, call, scope, raw)
            if route.finish and waits and reply.status < _FIRST_REDIRECT:
                reply = await cancelled_on_disconnect(receive, route.finish(call, reply))
        return with_deprecation(reply, route.deprecated, query, body)

    async def _work(self, route: Route, call: Call[Any, Any], scope: Scope, raw: RawBody) -> Reply:
        if route.may_be_stale:
            return await _read_from_any(route, call)
        if route.method != "POST" or not route.keeps_answer or KEY_HEADER not in call.headers:
            return await route.handler(call)
        request_hash = fingerprint(route.method, scope["path"], scope["query_string"], raw)
        return await run_once(call, request_hash, route.handler)

    @contextmanager
    def _counted(self, size: int) -> Iterator[None]:
        """Limits the bytes of all large requests together: a client may send many at once."""
        taken = min(size, MAX_BYTES_IN_PROGRESS) if size > MAX_BODY_BYTES else 0
        if self._bytes_in_progress + taken > MAX_BYTES_IN_PROGRESS:
            raise Refusal(UNAVAILABLE, "too many large requests came at once", headers=TRY_AGAIN)
        self._bytes_in_progress += taken
        try:
            yield
        finally:
            self._bytes_in_progress -= taken

    async def _admitted(
        self, route: Route | None, method: str, headers: RawHeaders, origin: RequestOrigin
    ) -> Caller:
        """Even an unknown path needs a key: without one, nobody learns which paths exist."""
        if route is not None and route.scope is None:
            return ANONYMOUS
        token = session_cookie(headers)
        if not token:
            in_outage = route is not None and route.answers_in_outage
            caller = await authenticate(self._node, headers, in_outage=in_outage)
        else:
            caller = await authenticate_session(self._node, token)
            check_own_page(method, headers, origin)
            if route is not None and not route.by_session:
                raise Refusal(NOT_ALLOWED, "this takes an API key, not a session")
        if route is not None and route.scope is not None:
            require(caller, route.scope)
        return caller

    def _no_route(self, scope: Scope) -> Refusal:
        if not self._routes:
            return Refusal(NOT_FOUND, f"there is nothing at {scope['path'][:200]}")
        allowed = ", ".join(sorted(self._routes))
        return Refusal(WRONG_METHOD, f"this path takes {allowed}", headers={"allow": allowed})


async def _read_from_any(route: Route, call: Call[Any, Any]) -> Reply:
    """The answer says so if a replica gave it."""
    with allow_stale_reads() as reads:
        reply = await route.handler(call)
    if not reads.from_replica:
        return reply
    return reply._replace(headers={**reply.headers, "tickwork-read-from": "replica"})


def origin_of(node: Node, scope: Scope, headers: RawHeaders) -> RequestOrigin:
    peer = scope["client"][0] if scope.get("client") else ""
    return node.trusted_proxies.origin(peer, scope.get("scheme", "http"), headers)


async def _raw_body(route: Route, headers: RawHeaders, receive: Receive) -> RawBody:
    if route.body is None:
        return await read_body(receive, headers, MAX_BODY_BYTES) if route.method == "POST" else b""
    if route.body.default is None:
        check_media(headers, route.body.media)
    return await read_body(receive, headers, route.body.limit)


async def _body(route: Route, raw: RawBody, headers: RawHeaders) -> Any:
    if route.body is None:
        return _no_body(raw)
    if route.body.default is not None:
        if raw in _EMPTY_BODIES:
            return route.body.default
        if not route.body.is_any_media:
            check_media(headers, route.body.media)
    if len(raw) > _MAX_BYTES_ON_LOOP:  # decoding this much would block the event loop
        return await to_thread(route.body.read, raw, media_of(headers))
    return route.body.read(raw, media_of(headers))


def _no_body(raw: RawBody) -> None:
    if raw not in _EMPTY_BODIES:
        raise Refusal(BROKEN_BODY, "this request takes no body")
