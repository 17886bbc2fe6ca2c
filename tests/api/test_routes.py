"""Every route of the table: in the document, closed without a key, open to the right scope only."""

from functools import partial

import pytest
from openapi_spec_validator import validate

from api.conftest import SHARED_ADMIN_KEY, client_of
from tickwork.api.asgi_app import ROUTES
from tickwork.api.docs_pages import PAGES
from tickwork.api.openapi import document
from tickwork.model.access import Scope

on_shared_node = pytest.mark.asyncio(loop_scope="module")
DOCUMENT = document(ROUTES)

UNKNOWN_IDS = {
    "jobs": "j0",
    "executions": "e0-0",
    "backfills": "b0",
    "workers": "w0",
    "keys": "k0",
    "notifications": "n0",
}
CLOSED = [route for route in ROUTES if route.scope]
WIDER = {
    Scope.READ: {Scope.READ, Scope.WRITE, Scope.ADMIN},
    Scope.WRITE: {Scope.WRITE, Scope.ADMIN},
    Scope.ADMIN: {Scope.ADMIN},
    Scope.WORKER: {Scope.WORKER, Scope.ADMIN},
}


@pytest.fixture
def connect(shared_node):
    """Makes a client that holds the given key; None holds no key."""
    return partial(client_of, shared_node)


def name(route):
    return f"{route.method} {route.path}"


def address(route):
    return (
        route.path.replace("{id}", UNKNOWN_IDS.get(route.path.split("/")[2], ""))
        if "{" in route.path
        else route.path
    )


def test_the_document_is_valid_openapi():
    validate(DOCUMENT)


@pytest.mark.parametrize("route", ROUTES, ids=name)
def test_is_in_the_document(route):
    operation = DOCUMENT["paths"][route.path][route.method.lower()]
    assert operation["operationId"] == route.handler.__name__
    assert operation["summary"]
    assert str(route.status) in operation["responses"]
    assert (operation.get("security") == []) == (route.scope is None)


def test_the_document_has_nothing_else():
    paths = DOCUMENT["paths"]
    described = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    assert described == {(route.method, route.path) for route in ROUTES}


def test_operation_names_are_unique():
    names = [route.handler.__name__ for route in ROUTES]
    assert len(names) == len(set(names))


@on_shared_node
@pytest.mark.parametrize("route", CLOSED, ids=name)
@pytest.mark.parametrize("key", [None, "", "nonsense"])
async def test_answers_401_without_a_valid_key(route, key, connect):
    async with connect(key) as client:
        answer = await client.request(route.method, address(route))
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.json()["type"] == "/docs/problems/unauthenticated"


@on_shared_node
@pytest.mark.parametrize("route", CLOSED, ids=name)
@pytest.mark.parametrize("scope", list(Scope))
async def test_answers_403_to_a_key_of_another_scope_and_names_the_one_needed(
    route, scope, connect, shared_keys
):
    async with connect(shared_keys[scope]) as client:
        answer = await client.request(route.method, address(route))
    if scope in WIDER[route.scope]:
        assert answer.status_code not in (401, 403)
    else:
        assert answer.status_code == 403
        assert f"scope {route.scope}" in answer.json()["detail"]


def test_only_health_the_docs_signing_in_pings_and_callbacks_are_open():
    open_paths = {route.path for route in (*ROUTES, *PAGES) if route.scope is None}
    assert open_paths == {
        "/livez",
        "/readyz",
        "/v1/openapi.json",
        "/docs",
        "/docs/{name}",
        "/docs/problems",
        "/docs/problems/{slug}",
        "/v1/session",  # to sign in
        "/ping/{token}",  # the token is a secret
        "/ping/{token}/{signal}",
        "/v1/callbacks/{id}/heartbeat",  # with the token of an attempt
        "/v1/callbacks/{id}/progress",
        "/v1/callbacks/{id}/checkpoint",
        "/v1/callbacks/{id}/complete",
        "/v1/callbacks/{id}/fail",
    }


@on_shared_node
@pytest.mark.parametrize("path", ["/nothing", "/v1", "/v1/nothing", "/v1/jobs/"])
async def test_an_unknown_path_is_401_without_a_key_and_404_with_one(path, connect):
    async with connect(None) as client:
        assert (await client.get(path)).status_code == 401
    async with connect(SHARED_ADMIN_KEY) as client:
        assert (await client.get(path)).status_code == 404


@on_shared_node
async def test_a_wrong_method_is_405_and_told_the_right_ones(shared_client):
    answer = await shared_client.put("/v1/jobs/j1")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "DELETE, GET, PATCH"


@on_shared_node
async def test_a_scheme_other_than_bearer_is_no_key(connect):
    async with connect(None) as client:
        answer = await client.get("/v1/jobs", headers={"authorization": f"Basic {SHARED_ADMIN_KEY}"})
    assert answer.status_code == 401


@on_shared_node
async def test_head_is_answered_like_get(connect):
    async with connect(None) as client:
        assert (await client.head("/livez")).status_code == 200
