"""Parts of the API that will be removed: routes and fields, marked where they are defined.

A route says `deprecated=Deprecation(…)`, and a field of a query or a body has the type `deprecated_field(str, …)`. From
the mark come the headers of the answers, and `deprecated: true` in the OpenAPI document. The policy is in
docs/reference/api-versions.md.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from email.utils import format_datetime
from functools import cache
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, inspect, structs

from tickwork.api.reply import Headers, Reply

_MARK = "deprecation"


class Deprecation(NamedTuple):
    since: date
    sunset: date | None = None  # it may be gone after this day
    instead: str = ""  # what to use, in a sentence
    see: str = "/docs"  # a page that says more

    @property
    def headers(self) -> Headers:
        """Of an answer: RFC 9745, RFC 8594 and RFC 8288."""
        link = f'<{self.see}>; rel="deprecation"; type="text/html"'
        headers = {"deprecation": f"@{int(_midnight(self.since).timestamp())}", "link": link}
        if self.sunset:
            headers["sunset"] = format_datetime(_midnight(self.sunset), usegmt=True)
        return headers

    @property
    def words(self) -> str:
        gone = f" It may be gone after {self.sunset}." if self.sunset else ""
        return f"Deprecated since {self.since}.{gone} {self.instead}".rstrip()


def deprecated_field(kind: Any, deprecation: Deprecation) -> Any:
    """The type of a field that will be removed."""
    meta = Meta(
        description=deprecation.words,
        extra_json_schema={"deprecated": True},
        extra={_MARK: deprecation},
    )
    return Annotated[kind, meta]


def with_deprecation(reply: Reply, route: Deprecation | None, *inputs: object) -> Reply:
    """The answer, with headers if the route is deprecated, or a field that the request has."""
    found = [*([route] if route else []), *(each for value in inputs for each in _used_fields(value))]
    if not found:
        return reply
    soonest = min(found, key=lambda each: (each.sunset or date.max, each.since))
    return reply._replace(headers={**reply.headers, **soonest.headers})


def _used_fields(value: object) -> Iterator[Deprecation]:
    if isinstance(value, msgspec.Struct):
        for name, default, deprecation in _deprecated_fields(type(value)):
            if getattr(value, name) != default:
                yield deprecation


@cache
def _deprecated_fields(struct: type[msgspec.Struct]) -> tuple[tuple[str, Any, Deprecation], ...]:
    marked = ((field, _mark_of(inspect.type_info(field.type))) for field in structs.fields(struct))
    return tuple((field.name, field.default, mark) for field, mark in marked if mark)


def _mark_of(info: inspect.Type) -> Deprecation | None:
    if isinstance(info, inspect.Metadata):
        mark: Deprecation | None = (info.extra or {}).get(_MARK)
        return mark or _mark_of(info.type)
    if isinstance(info, inspect.UnionType):
        return next((mark for each in info.types if (mark := _mark_of(each))), None)
    return None


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
