"""A route of the API: its path, scope, query, body and response. Routing and the OpenAPI document are both made from
the routes, so they cannot differ."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

import msgspec

from tickwork.access.trusted_proxies import UNKNOWN_ORIGIN, RequestOrigin
from tickwork.api.deprecation import Deprecation
from tickwork.api.problem import NOT_FOUND, ProblemType, Refusal
from tickwork.api.repeated_headers_and_request_id import RawHeaders
from tickwork.api.reply import JSON, Reply
from tickwork.api.request_body import MAX_BODY_BYTES, RawBody, decode
from tickwork.model.access import Caller, Requester, Scope
from tickwork.model.errors import BadId, Invalid, NotFound, Stale
from tickwork.model.public_ids import job_key, parse_job_id
from tickwork.node import Node

Query = TypeVar("Query")
Body = TypeVar("Body")
Number = TypeVar("Number")

SENT_SLASH = "\ue000"  # replaces %2F in a path
_VERSION = re.compile(rb'"(\d{1,18})"')


class Call(NamedTuple, Generic[Query, Body]):
    node: Node
    caller: Caller
    headers: RawHeaders
    path: Mapping[str, str]
    query: Query
    body: Body
    origin: RequestOrigin = UNKNOWN_ORIGIN
    commits_with_answer: bool = False  # the answer is kept for an Idempotency-Key, in the same transaction

    @property
    def tenant_id(self) -> int:
        return self.caller.tenant_id

    def requester(self, traceparent: str | None = None) -> Requester:
        return Requester(self.caller.author, traceparent)

    def id(self, parse: Callable[[str], Number]) -> Number:
        """The id in the path. A malformed id is a 404."""
        try:
            return parse(self.path["id"])
        except BadId as error:
            raise Refusal(NOT_FOUND, error.errors[0].message) from None

    async def job(self) -> int:
        """The job in the path, by its id or as key:NAME."""
        key = job_key(self.path["id"].replace(SENT_SLASH, "/"))
        if key is None:
            return self.id(parse_job_id)
        return await self.node.jobs.find(self.tenant_id, key)

    async def job_in(self, name: str | None) -> int | None:
        """The job that a field or filter named `job` refers to, if given."""
        key = job_key(name or "")
        if name is None or key is None:
            return parse_job_id(name) if name else None
        try:
            return await self.node.jobs.find(self.tenant_id, key)
        except NotFound:
            raise Invalid.field("job", f"no job has the key {key!r}") from None

    def if_match(self) -> int | None:
        """The version in If-Match; None if any version will do."""
        header = self.headers.get(b"if-match", b"*").strip()
        if header == b"*":
            return None
        version = _VERSION.fullmatch(header)
        if version is None:
            raise Stale("If-Match names no version of this job; use the ETag of its latest answer")
        return int(version[1])


class Handler(Protocol):
    __name__: str

    def __call__(self, call: Call[Any, Any], /) -> Awaitable[Reply]: ...


class Finish(Protocol):
    def __call__(self, call: Call[Any, Any], reply: Reply, /) -> Awaitable[Reply]: ...


class Content(NamedTuple):
    """The body of a request, and how to read it."""

    type: Any  # as the OpenAPI document shows it
    read: Callable[[RawBody, str], Any]  # from the bytes and their media type
    media: tuple[str, ...] = (JSON,)
    limit: int = MAX_BODY_BYTES
    example: Any = None
    default: Any = None  # the value of an empty body; None: a body is required
    is_any_media: bool = False  # whatever the client says that it is


def json_content(
    struct: type[msgspec.Struct],
    media: tuple[str, ...] = (JSON,),
    example: Any = None,
    default: msgspec.Struct | None = None,
) -> Content:
    decoder = msgspec.json.Decoder(struct)
    return Content(struct, lambda raw, _media: decode(raw, decoder), media, example=example, default=default)


class NoQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class Route(NamedTuple):
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    handler: Handler  # its name and docstring are those of the operation
    scope: Scope | None  # None: answers without a key
    response: Any  # a type, or None for what is not JSON
    status: int = 200
    query: type[msgspec.Struct] | None = NoQuery  # None: the query is ignored
    body: Content | None = None
    problems: tuple[ProblemType, ...] = ()  # in addition to those that every such route has
    also: tuple[tuple[int, Any], ...] = ()  # other successful responses, each with its status
    media: str = JSON
    also_media: tuple[str, ...] = ()  # alternatives that a client may ask for
    waits: bool = False  # may take long: the work ends when the client disconnects
    finish: Finish | None = None  # completes the response after the commit, if the query asks to wait
    by_session: bool = True  # False: only with an API key, never with the cookie of a session
    answers_in_outage: bool = False  # even if the database, which knows the keys, is away
    may_be_stale: bool = False  # a replica of the database may answer, a few seconds behind
    keeps_answer: bool = True  # for Idempotency-Key; False for a POST that is safe to repeat anyway
    deprecated: Deprecation | None = None  # it will be removed
