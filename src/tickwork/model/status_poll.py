"""How to find out whether a target that has answered 202 is done, by asking a URL that it has given.

POST ──▶ 202, Location: /jobs/7 ──▶ GET /jobs/7 … ──▶ GET /jobs/7: done
"""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated

import msgspec
from msgspec import Meta

from tickwork.model.errors import FieldError
from tickwork.model.field_types import Duration
from tickwork.model.quantities import parse_duration

LOCATION = "location"
SHORTEST_INTERVAL, LONGEST_INTERVAL = timedelta(seconds=1), timedelta(days=1)
_PATH = re.compile(r"body(\.[A-Za-z0-9_@$-]{1,100}){0,20}")

Values = Annotated[list[str | bool | int | float | None], Meta(min_length=1, max_length=50)]
Path = Annotated[str, Meta(max_length=500)]


class PollUntil(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which part of the answer says that the target is done, and how."""

    path: Path  # such as body.state
    done: Values  # the execution completes when it has one of these values
    failed: list[str | bool | int | float | None] = []  # and the attempt fails with one of these


class StatusPoll(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the target's status is, how often to ask, and what the answers mean."""

    url_from: Path = LOCATION  # the header, or a path into the answer 202, such as body.links.status
    every: Duration = "30s"
    # Without it, an answer 202 means that the target still works, and any other success that it is done.
    until: PollUntil | None = None


def poll_errors(poll: StatusPoll) -> Iterator[FieldError]:
    if poll.url_from != LOCATION and not _PATH.fullmatch(poll.url_from):
        yield FieldError("http.poll.url_from", 'must be "location" or a path such as body.links.status')
    if poll.until and not _PATH.fullmatch(poll.until.path):
        yield FieldError("http.poll.until.path", "must be a path such as body.state")
    try:
        every = parse_duration(poll.every)
    except ValueError as error:
        yield FieldError("http.poll.every", str(error))
        return
    if not SHORTEST_INTERVAL <= every <= LONGEST_INTERVAL:
        yield FieldError("http.poll.every", "is between 1 s and 1 day")
