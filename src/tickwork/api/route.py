"""One line of the API: what is asked, who may ask, what comes back. Routing and the OpenAPI document are
both made from these, so they cannot differ."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from tickwork.api.body import LIMIT_DEFAULT, decode
from tickwork.api.call import Call
from tickwork.api.problem import ProblemType
from tickwork.api.reply import JSON, Reply
from tickwork.api.shape import Text
from tickwork.model.tenancy import Scope


class Handler(Protocol):
    __name__: str

    def __call__(self, call: Call[Any, Any], /) -> Awaitable[Reply]: ...


class Finish(Protocol):
    def __call__(self, call: Call[Any, Any], reply: Reply, /) -> Awaitable[Reply]: ...


class Content(NamedTuple):
    """The body that a request has, and how to read it."""

    type: Any  # as the OpenAPI document shows it
    read: Callable[[Text, str], Any]  # from the bytes and their media type
    media: tuple[str, ...] = (JSON,)
    limit: int = LIMIT_DEFAULT
    example: Any = None
    default: Any = None  # what no body means; None: there must be one


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
    query: type[msgspec.Struct] | None = NoQuery  # None: whatever is there is ignored
    body: Content | None = None
    problems: tuple[ProblemType, ...] = ()  # beyond those that follow from the rest
    also: tuple[tuple[int, Any], ...] = ()  # other answers that are no problem, by their status
    media: str = JSON
    also_media: tuple[str, ...] = ()  # in which the same is given when asked for
    waits: bool = False  # for long: the work on it ends when the client goes away
    finish: Finish | None = (
        None  # what is left of the answer when the work is done and committed, if the query asks to wait
    )
    keeps_answer: bool = (
        True  # of a POST with an Idempotency-Key; one that is safe to repeat as it is needs no such
    )
