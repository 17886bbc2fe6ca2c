"""Follows a log or the events of a tenant across lost connections: each item once, in order, and none is missing.

No I/O here: `StreamFollower` says what to send, parses the server-sent events that arrive, and says when to try again.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import httpx2
import msgspec

from tickwork.client.build_requests import Call
from tickwork.client.request_retry_answer import (
    HttpRequest,
    Reply,
    answer_of,
    is_worth_retrying,
    pause_before,
    request_of,
)
from tickwork.model.attempt_log import AttemptProgress, LogEntry
from tickwork.model.errors import Unavailable
from tickwork.model.stream_event import StreamEvent

FOLLOW_TIMEOUT = httpx2.Timeout(45.0, connect=5.0)  # the server sends a keep-alive every 15 seconds
_MAX_FAILURES = 15  # consecutive tries after a lost stream: about a minute


Item = TypeVar("Item")


class StreamFollower(ABC, Generic[Item]):
    def __init__(self, call: Call[Any], retries: int) -> None:
        self._call = call
        self._max_failures = retries
        self._failures = 0
        self._last_id: str | None = None
        self._unread = b""
        self.ended = False

    def request(self) -> HttpRequest:
        self._unread = b""
        headers = {"Accept": "text/event-stream"}
        if self._last_id is not None:
            headers["Last-Event-ID"] = self._last_id
        request = request_of(msgspec.structs.replace(self._call, headers=headers))
        return request._replace(timeout=FOLLOW_TIMEOUT)

    def read(self, received: bytes) -> Iterator[Item]:
        self._max_failures = _MAX_FAILURES
        *events, self._unread = (self._unread + received).split(b"\n\n")
        for event in events:
            self._failures = 0 if not event.startswith(b"retry") else self._failures
            fields = dict(line.split(b": ", 1) for line in event.split(b"\n") if b": " in line)
            if b"event" in fields:
                yield from self._items(fields[b"event"], fields[b"data"])
            if b"id" in fields:
                self._last_id = fields[b"id"].decode()

    @abstractmethod
    def _items(self, name: bytes, data: bytes) -> Iterator[Item]: ...

    def pause_after(self, reply: Reply) -> float:
        """Seconds until the next try. Raises the error if another try is useless."""
        if not isinstance(reply, httpx2.Response) or not reply.is_success:
            if self._failures >= self._max_failures or not is_worth_retrying(self._call, reply):
                answer_of(self._call, reply)
        elif self._failures >= self._max_failures:
            raise Unavailable("the server keeps ending the stream")
        self._failures += 1
        return pause_before(self._failures - 1, reply)


class LogFollower(StreamFollower[LogEntry | AttemptProgress]):
    """Ends with the execution."""

    def _items(self, name: bytes, data: bytes) -> Iterator[LogEntry | AttemptProgress]:
        match name:
            case b"log":
                yield msgspec.json.decode(data, type=LogEntry)
            case b"progress":
                yield msgspec.json.decode(data, type=AttemptProgress)
            case b"end":
                self.ended = True


class EventFollower(StreamFollower[StreamEvent]):
    """Never ends by itself."""

    def _items(self, _name: bytes, data: bytes) -> Iterator[StreamEvent]:
        yield msgspec.json.decode(data, type=StreamEvent)
