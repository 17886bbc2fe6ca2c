"""Builds the OpenAPI 3.1 document from the routes.

A field such as a duration may be given in several ways. Each such union has a name of its own in the document, so that
client generators make one type of it instead of one per field.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from inspect import getdoc
from typing import Any, get_args, get_origin

import msgspec
from msgspec import UNSET, UnsetType, inspect, structs

from tickwork.api import problem
from tickwork.api.auth import SESSION_COOKIE
from tickwork.api.problem import Problem, ProblemType
from tickwork.api.reply import JSON, NDJSON, Reply
from tickwork.api.route import Call, NoQuery, Route
from tickwork.model.field_types import Duration
from tickwork.model.job import Dependency
from tickwork.model.requires_limits_fair_share import Size
from tickwork.model.rest_worker import LogLine, OfferedTask

_UNIONS: dict[str, Any] = {
    "Duration": Duration,
    "Size": Size,
    "ScheduleRequest": str | dict[str, Any],
    "DependencyRequest": str | Dependency,
    "LogLine": LogLine,
    "OfferedTask": OfferedTask,
}
_NULL = {"type": "null"}

_REF = "#/components/schemas/{name}"
_PATH_PARAMETER = re.compile(r"\{(\w+)\}")
_TAGS = {
    "jobs": "What to run, with which payload, when, and under which policies.",
    "workflows": "Jobs that depend on each other.",
    "schedules": "What a schedule means, before anything is created.",
    "upcoming": "What is due in a range of time: every due time of all jobs, or how many there are.",
    "overview": "How things stand, in one answer.",
    "timeline": "Past, now and future of the jobs or tasks that matter most.",
    "executions": "The occurrences of jobs, each with its attempts.",
    "dead-letters": "Executions that failed for good, until they are redriven or discarded.",
    "backfills": "Runs of a job for due times in the past, at a limited pace.",
    "channels": "Where notifications go, and when.",
    "breakers": "The circuit breakers of HTTP destinations that failed recently.",
    "queues": "The queues that executions wait in, and their limits.",
    "retention": "How much of the history of your jobs is kept.",
    "notifications": "What channels are told, and what became of it.",
    "notification-rules": "Who is told of what, besides what jobs say themselves.",
    "workers": "The processes that run attempts.",
    "callbacks": "Reports of the targets of HTTP jobs that finish later.",
    "tasks": "The code that can be run.",
    "keys": "API keys: who may call, and with which scopes.",
    "tenants": "The owners of jobs, keys and history.",
    "session": "Signing in with a browser, and who you are.",
    "pings": "Things that run elsewhere and report here, expected by a schedule.",
    "cluster": "The nodes and their database.",
    "node": "The state of this server.",
}
_OTHER_TAGS = {
    "me": "session",
    "sign-in-links": "session",
    "ping": "pings",
    "outside-ping": "cluster",
}  # the first word of a path, and the tag if it differs
_INFO = {
    "title": "Tickwork",
    "version": "1",
    "summary": "A distributed job scheduler.",
    "description": (
        "Times are RFC 3339. Durations are accepted as `90s`, `5m`, `1h30m`, ISO 8601 or seconds, and given "
        "back as seconds. Unknown fields and parameters are errors. Errors are `application/problem+json`."
    ),
}
_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "Makes the request safe to repeat: for at least 24 hours it gets the same answer",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
}
_IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "description": "The ETag of the job as you know it; the request is refused if the job has changed since",
    "schema": {"type": "string"},
}


_SECURITY = {
    "key": {"type": "http", "scheme": "bearer", "description": "An API key."},
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": SESSION_COOKIE,
        "description": "The session of a browser. Requests other than GET also send the header `tickwork-csrf: 1`.",
    },
}
_LINES = {"schema": {"type": "string", "description": "one JSON object per line"}}
_ALWAYS = (
    problem.BROKEN_HEAD,
    problem.WRONG_METHOD,
    problem.TIMED_OUT,
    problem.INVALID,
    problem.HEAD_TOO_LARGE,
    problem.INTERNAL,
    problem.TOO_MANY_CONNECTIONS,
)


Schema = dict[str, Any]


def with_named_unions(components: Schema, ref_template: str) -> Schema:
    """Adds the unions to the components, and replaces each of their uses by a reference."""
    schemas, _ = msgspec.json.schema_components(_UNIONS.values(), ref_template=ref_template)
    unions = dict(zip(_UNIONS, schemas, strict=True))
    refs = {_key(union): {"$ref": ref_template.format(name=name)} for name, union in unions.items()}
    replaced: Schema = _replaced(components, refs)
    return replaced | unions


def _replaced(value: Any, refs: dict[bytes, Schema]) -> Any:
    if isinstance(value, list):
        return [_replaced(item, refs) for item in value]
    if not isinstance(value, dict):
        return value
    ref = refs.get(_key(value)) if "anyOf" in value else None
    if ref is None:
        return {name: _replaced(item, refs) for name, item in value.items()}
    rest = {name: item for name, item in value.items() if name not in ("anyOf", "description")}
    return ({"anyOf": [ref, _NULL]} if _NULL in value["anyOf"] else ref) | rest


def _key(schema: Schema) -> bytes:
    choices = [choice for choice in schema["anyOf"] if choice != _NULL]
    return msgspec.json.encode([choices, schema.get("description")], order="deterministic")


def patch_of(struct: type[msgspec.Struct], name: str) -> type[msgspec.Struct]:
    fields = [
        (field.encode_name, _patch_type(field.type, name) | None | UnsetType, UNSET)
        for field in structs.fields(struct)
    ]
    return msgspec.defstruct(name, fields, frozen=True, kw_only=True, forbid_unknown_fields=True)


def _patch_type(kind: Any, name: str) -> Any:
    """Objects inside are patched too, not replaced."""
    if get_origin(kind) is dict:
        name_type, value_type = get_args(kind)
        return dict[name_type, value_type | None]  # type: ignore[valid-type]
    info = inspect.type_info(kind)
    choices = info.types if isinstance(info, inspect.UnionType) else (info,)
    inner = next((choice.cls for choice in choices if isinstance(choice, inspect.StructType)), None)
    return patch_of(inner, f"{name}{inner.__name__}") if inner else kind


def with_document(routes: Sequence[Route]) -> tuple[Route, ...]:
    """The routes, and one more that describes them all."""

    async def get_openapi(_call: Call[NoQuery, None]) -> Reply:
        """Get this document."""
        return Reply(200, encoded(), {"content-type": JSON})

    @cache
    def encoded() -> bytes:
        return msgspec.json.encode(document(everything))

    everything = (*routes, Route("GET", "/v1/openapi.json", get_openapi, None, dict[str, Any]))
    return everything


def document(routes: Sequence[Route]) -> Schema:
    types = list(dict.fromkeys(_types(routes)))
    schemas, components = msgspec.json.schema_components(types, ref_template=_REF)
    schema_of = dict(zip(types, schemas, strict=True))
    queries = {query.__name__: components.pop(query.__name__) for query in _queries(routes)}
    paths: dict[str, Schema] = {}
    for route in routes:
        operation = _operation(route, schema_of, queries)
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": _INFO,
        "servers": [{"url": "/"}],
        "security": [{"key": []}, {"session": []}],
        "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(with_named_unions(components, _REF).items())),
            "securitySchemes": _SECURITY,
        },
    }


def _types(routes: Sequence[Route]) -> Iterator[Any]:
    yield Problem
    yield from _queries(routes)
    for route in routes:
        if route.body:
            yield route.body.type
        if route.response:
            yield route.response
        yield from (response for _, response in route.also)


def _queries(routes: Sequence[Route]) -> set[type[msgspec.Struct]]:
    return {route.query for route in routes if route.query}


def _operation(route: Route, schema_of: dict[Any, Schema], queries: dict[str, Schema]) -> Schema:
    summary, _, description = (getdoc(route.handler) or "").partition("\n\n")
    needs = f"Needs a key with the scope `{route.scope}`." if route.scope else "Answers without a key."
    operation: Schema = {
        "operationId": route.handler.__name__,
        "tags": [_tag(route)],
        "summary": summary.rstrip("."),
        "description": " ".join([*description.split(), needs]),
        "parameters": [*_parameters(route, queries)],
        "responses": {**_successes(route, schema_of), **_problems(route, schema_of)},
    }
    if route.deprecated:
        operation["deprecated"] = True
        operation["description"] = f"{route.deprecated.words} {operation['description']}"
    if route.scope is None:
        operation["security"] = []
    elif not route.by_session:
        operation["security"] = [{"key": []}]
    if route.body:
        media = _media(schema_of[route.body.type], route.body.example)
        required = route.body.default is None
        kinds = {kind: _LINES if kind == NDJSON else media for kind in route.body.media}
        operation["requestBody"] = {"required": required, "content": kinds}
    return operation


def _tag(route: Route) -> str:
    words = [_OTHER_TAGS.get(word, word) for word in route.path.split("/")]
    known = [word for word in words if word in _TAGS]
    return known[-1] if known else "node"


def _parameters(route: Route, queries: dict[str, Schema]) -> Iterator[Schema]:
    for name in _PATH_PARAMETER.findall(route.path):
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
    if route.query:
        for name, schema in queries[route.query.__name__]["properties"].items():
            mark = {"deprecated": True} if _is_deprecated(schema) else {}
            yield {"name": name, "in": "query", "schema": _never_null(schema), **mark}
    if route.method == "POST" and route.keeps_answer:
        yield _IDEMPOTENCY_KEY
    if problem.STALE in route.problems:
        yield _IF_MATCH


def _is_deprecated(schema: Schema) -> bool:
    return any(choice.get("deprecated") for choice in (schema, *schema.get("anyOf", ())))


def _never_null(schema: Schema) -> Schema:
    """A query cannot say null: an absent parameter is simply left out."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    return choices[0] if len(choices) == 1 else schema


def _successes(route: Route, schema_of: dict[Any, Schema]) -> dict[str, Schema]:
    schemas: dict[int, list[Schema]] = {}
    for status, kind in ((route.status, route.response), *route.also):
        schemas.setdefault(status, []).append(schema_of[kind] if kind else {"type": "string"})
    others = dict.fromkeys(route.also_media, _media({"type": "string"}))
    return {
        str(status): {
            "description": "Done.",
            "content": {
                route.media: _media(choices[0] if len(choices) == 1 else {"anyOf": choices}),
                **others,
            },
        }
        for status, choices in schemas.items()
    }


def _problems(route: Route, schema_of: dict[Any, Schema]) -> dict[str, Schema]:
    titles: dict[str, list[str]] = {}
    for kind in sorted({*_usual_problems(route), *route.problems}, key=lambda kind: (kind.status, kind.slug)):
        titles.setdefault(str(kind.status), []).append(f"[{kind.title}]({kind.uri})")
    content = {problem.MEDIA: _media(schema_of[Problem])}
    return {
        status: {"description": " or ".join(names), "content": content} for status, names in titles.items()
    }


def _usual_problems(route: Route) -> Iterator[ProblemType]:
    yield from _ALWAYS
    if route.scope:
        yield from (problem.UNAUTHENTICATED, problem.NOT_ALLOWED, problem.UNAVAILABLE)
    if route.scope and route.by_session and route.method != "GET":
        yield problem.CROSS_SITE
    if "{" in route.path:
        yield problem.NOT_FOUND
    if route.method == "POST":
        yield from (problem.BROKEN_BODY, problem.TOO_LARGE, problem.CONFLICT, problem.KEY_REUSED)
    if route.body:
        yield from (problem.BROKEN_BODY, problem.TOO_LARGE, problem.WRONG_MEDIA)


def _media(schema: Schema, example: Any = None) -> Schema:
    return {"schema": schema} if example is None else {"schema": schema, "example": example}
