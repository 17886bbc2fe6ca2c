"""Parts of the API that will be removed say so: in headers, in the OpenAPI document, and in the clients."""

import asyncio
import socket
import warnings
from collections.abc import AsyncIterator
from datetime import date

import httpx2
import msgspec
import pytest
from starlette.applications import Starlette
from starlette.routing import Route as StarletteRoute

from tickwork.api.deprecation import Deprecation, deprecated_field
from tickwork.api.handle_request import Endpoint
from tickwork.api.http_server_with_limits import HttpServer
from tickwork.api.openapi import document
from tickwork.api.reply import Reply, json_reply
from tickwork.api.route import Call, NoQuery, Route, json_content
from tickwork.client.async_client import AsyncClient
from tickwork.client.build_requests import get
from tickwork.client.deprecation_warning import ApiDeprecationWarning, _warned
from tickwork.client.request_retry_answer import exchange
from tickwork.node import Node

ROUTE_GOES = Deprecation(date(2026, 1, 2), date(2027, 1, 2), "Use GET /v1/new.", "/docs#old")
FIELD_GOES = Deprecation(date(2026, 3, 4))


class Fields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    fresh: str | None = None
    stale: deprecated_field(str, FIELD_GOES) | None = None  # type: ignore[valid-type]


class Body(Fields, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


async def get_old(_: Call[NoQuery, None]) -> Reply:
    """Get what is old."""
    return json_reply({"answer": 1})


async def get_new(_: Call[Fields, None]) -> Reply:
    """Get what is new."""
    return json_reply({"answer": 2})


async def post_new(_: Call[NoQuery, Body]) -> Reply:
    """Post what is new."""
    return json_reply({"answer": 3})


ROUTES = (
    Route("GET", "/v1/old", get_old, None, dict[str, int], deprecated=ROUTE_GOES),
    Route("GET", "/v1/new", get_new, None, dict[str, int], query=Fields),
    Route("POST", "/v1/new", post_new, None, dict[str, int], body=json_content(Body), keeps_answer=False),
)


@pytest.fixture
def app(still_node: Node) -> Starlette:
    paths = {route.path for route in ROUTES}
    endpoints = [
        StarletteRoute(path, Endpoint(still_node, path, [each for each in ROUTES if each.path == path]))
        for path in paths
    ]
    return Starlette(routes=endpoints)


@pytest.fixture
async def http(app: Starlette) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://test") as http:
        yield http


async def test_a_route_says_since_when_until_when_and_where_more_is_written(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/v1/old")
    assert answer.json() == {"answer": 1}
    assert answer.headers["deprecation"] == "@1767312000"  # RFC 9745: a date as a structured field
    assert answer.headers["sunset"] == "Sat, 02 Jan 2027 00:00:00 GMT"
    assert answer.headers["link"] == '</docs#old>; rel="deprecation"; type="text/html"'


async def test_a_field_says_so_only_to_those_who_use_it(http: httpx2.AsyncClient) -> None:
    for used in (
        await http.get("/v1/new", params={"stale": "a"}),
        await http.post("/v1/new", json={"stale": "a"}),
    ):
        assert used.headers["deprecation"] == "@1772582400"
        assert "sunset" not in used.headers
    for unused in (
        await http.get("/v1/new", params={"fresh": "a"}),
        await http.post("/v1/new", json={"fresh": "a"}),
    ):
        assert "deprecation" not in unused.headers


def test_the_document_marks_both() -> None:
    made = document(ROUTES)
    old, new = made["paths"]["/v1/old"]["get"], made["paths"]["/v1/new"]["get"]
    assert old["deprecated"] is True
    assert old["description"].startswith(
        "Deprecated since 2026-01-02. It may be gone after 2027-01-02. Use GET"
    )
    assert "deprecated" not in new
    assert {each["name"]: each.get("deprecated") for each in new["parameters"]} == {
        "fresh": None,
        "stale": True,
    }
    stale = made["components"]["schemas"]["Body"]["properties"]["stale"]
    assert stale["anyOf"][0]["deprecated"] is True


@pytest.fixture
async def address(app: Starlette) -> AsyncIterator[str]:
    """Of a real server on a real socket."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = HttpServer(app)
    serving = asyncio.create_task(server.serve([listener]))
    yield "http://{}:{}".format(*listener.getsockname())
    server.should_exit = True
    await serving


async def test_a_client_warns_once_for_each_operation(address: str) -> None:
    _warned.clear()
    async with AsyncClient(address, "key") as client:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(2):
                call = get("old", answer=dict[str, int])
                assert await client._run_steps(exchange(call, 0)) == {"answer": 1}
                await client._run_steps(exchange(get("new", answer=dict[str, int]), 0))
    told = [each for each in caught if each.category is ApiDeprecationWarning]
    assert len(told) == 1
    assert issubclass(ApiDeprecationWarning, DeprecationWarning)
    assert str(told[0].message) == (
        "GET /v1/old uses a part of the API that is deprecated and may be gone after 2027-01-02: "
        f"see {address}/docs#old"
    )
