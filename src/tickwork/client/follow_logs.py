"""Follows a log by server-sent events across lost connections: every line once, and none is missing.

No I/O here: `LogFollower` says what to send, parses the bytes that arrive, and says when to try again.
"""

from collections.abc import Iterator
from typing import Any

import httpx2
import msgspec

from tickwork.client.build_requests import Call
from tickwork.client.http_exchange import (
    HttpRequest,
    Reply,
    answer_of,
    is_worth_retrying,
    pause_before,
    request_of,
)
from tickwork.model.attempt_log import AttemptProgress, LogEntry
from tickwork.model.errors import Unavailable

FOLLOW_TIMEOUT = httpx2.Timeout(45.0, connect=5.0)  # the server sends a keep-alive every 15 seconds
_MAX_FAILURES = 15  # consecutive tries after a lost stream: about a minute


class LogFollower:
    def __init__(self, call: Call[Any], retries: int) -> None:
        self._call = call
        self._max_failures = retries
        self._failures = 0
        self._last_id: str | None = None
        self._unread = b""
        self.ended = False

    def request(self) -> HttpRequest:
        self._unread = b""
        query, headers = self._call.query | {"follow": "true"}, {"Accept": "text/event-stream"}
        if self._last_id is not None:
            headers["Last-Event-ID"] = self._last_id
        request = request_of(msgspec.structs.replace(self._call, query=query, headers=headers))
        return request._replace(timeout=FOLLOW_TIMEOUT)

    def read(self, received: bytes) -> Iterator[LogEntry | AttemptProgress]:
        self._max_failures = _MAX_FAILURES
        *events, self._unread = (self._unread + received).split(b"\n\n")
        for event in events:
            self._failures = 0 if not event.startswith(b"retry") else self._failures
            fields = dict(line.split(b": ", 1) for line in event.split(b"\n") if b": " in line)
            match fields.get(b"event"):
                case b"log":
                    yield msgspec.json.decode(fields[b"data"], type=LogEntry)
                    self._last_id = fields[b"id"].decode()
                case b"progress":
                    yield msgspec.json.decode(fields[b"data"], type=AttemptProgress)
                case b"end":
                    self.ended = True

    def pause_after(self, reply: Reply) -> float:
        """Seconds until the next try. Raises the error if another try is useless."""
        if not isinstance(reply, httpx2.Response) or not reply.is_success:
            if self._failures >= self._max_failures or not is_worth_retrying(self._call, reply):
                answer_of(self._call, reply)
        elif self._failures >= self._max_failures:
            raise Unavailable("the server keeps ending the stream")
        self._failures += 1
        return pause_before(self._failures - 1, reply)
