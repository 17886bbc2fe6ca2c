"""Holds every answer against the OpenAPI document, so that what is published is what is sent."""

import re
from functools import cache
from http import HTTPStatus
from typing import Any

import httpx2
import jsonschema_rs
import msgspec

from tickwork.api.asgi_app import ROUTES
from tickwork.api.openapi import document
from tickwork.api.problem import MEDIA, PROBLEM_TYPES

_DOCUMENT = document(ROUTES)
_JSON_MEDIA = ("application/json", MEDIA)
_PROBLEM = {"$ref": "#/components/schemas/Problem"}
_AS_GIVEN = ("Requires", "Limit", "FairShare", "Dependency", "QuietHours", "MessageTemplate")
_AS_TOLD = ("NotificationItem", "NotifiedJob", "NotifiedExecution")
_PAGES = ("/docs", "/assets")  # for people, and not in the document
_HTML = "text/html"  # likewise
_NOT_DESCRIBED = (HTTPStatus.NOT_FOUND, HTTPStatus.UNAUTHORIZED, HTTPStatus.METHOD_NOT_ALLOWED)


async def keeps_the_contract(response: httpx2.Response) -> None:
    """To be called with every response of a client, before the test sees it."""
    await response.aread()
    request = response.request
    media = response.headers["content-type"].partition(";")[0]
    if request.url.path.startswith(_PAGES) or media == _HTML:
        return
    where = f"{request.method} {request.url.path} -> {response.status_code}"
    described = _described(request.method, _path(request), response.status_code)
    assert media in described, f"{where} answers {media}; the document says {', '.join(described)}"
    assert response.headers["x-request-id"], where
    if media in _JSON_MEDIA and request.method != "HEAD":
        _check_body(where, response, described[media])


def _path(request: httpx2.Request) -> str:
    """As it was sent: a slash in a name is no separator."""
    return request.url.raw_path.decode().partition("?")[0]


def _described(method: str, path: str, status: int) -> dict[str, Any]:
    """The media types, with their schemas, that the document has for such an answer."""
    operation = _operation("GET" if method == "HEAD" else method, path)
    if operation is None:
        assert status in _NOT_DESCRIBED, f"{method} {path} is not in the document and answers {status}"
        return {MEDIA: {"schema": _PROBLEM}}
    responses = operation["responses"]
    assert str(status) in responses, f"{method} {path}: {status} is not among {', '.join(responses)}"
    content: dict[str, Any] = responses[str(status)]["content"]
    return content


@cache
def _operation(method: str, path: str) -> dict[str, Any] | None:
    paths = sorted(_DOCUMENT["paths"], key=lambda template: "{" in template)
    template = next((each for each in paths if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", each), path)), None)
    return _DOCUMENT["paths"][template].get(method.lower()) if template else None


def _check_body(where: str, response: httpx2.Response, content: dict[str, Any]) -> None:
    body = msgspec.json.decode(response.content)
    error = next(_validator(msgspec.json.encode(content["schema"])).iter_errors(body), None)
    assert error is None, f"{where} at {error.instance_path}: {error.message}\n{response.text[:2000]}"
    if response.headers["content-type"] == MEDIA:
        _check_problem(where, response, body)


def _check_problem(where: str, response: httpx2.Response, problem: dict[str, Any]) -> None:
    assert problem["status"] == response.status_code, where
    assert problem["request_id"] == response.headers["x-request-id"], where
    kind = next(kind for kind in PROBLEM_TYPES if kind.uri == problem["type"])
    assert (kind.status, kind.title) == (problem["status"], problem["title"]), where
    assert problem["detail"], where


@cache
def _validator(schema: bytes) -> jsonschema_rs.Draft202012Validator:
    whole = {**msgspec.json.decode(schema), "components": {"schemas": _closed_schemas()}}
    return jsonschema_rs.Draft202012Validator(whole, validate_formats=True)


@cache
def _closed_schemas() -> dict[str, Any]:
    """The schemas as strict as can be: an answer holds every field that is published, and nothing else. What users gave
    is shown as they gave it, and what a channel is told as it is told."""
    return {
        name: {
            **schema,
            "additionalProperties": False,
            "required": schema.get("required", [])
            if name in (*_AS_GIVEN, *_AS_TOLD)
            else list(schema["properties"]),
        }
        if "properties" in schema
        else schema
        for name, schema in _DOCUMENT["components"]["schemas"].items()
    }
