"""Where an HTTP job calls, and what a call says about the health of its destination."""

from enum import Enum, auto
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import urlsplit

from tickwork.model.worker_protocol import Failure

_DEFAULT_PORTS = {"http": 80, "https": 443}
_DESTINATION_ERRORS = frozenset(
    {"ConnectError", "ConnectTimeout", "ConnectionLost", "DnsError", "TlsError", "BadResponse", "Timeout"}
)
_LONGEST_ERROR = 300


class CallVerdict(Enum):
    WORKS = auto()  # it answered, even if with "your request is wrong"
    FAILS = auto()  # unreachable, connection lost, timeout or a 5xx answer
    REFUSES = auto()  # it answered 429: too many requests
    UNKNOWN = auto()  # it was not called, or the call was cancelled


class CallResult(NamedTuple):
    """What one call says about its destination."""

    verdict: CallVerdict
    error: str | None = None
    retry_after: float = 0.0  # seconds that the destination asks for

    @property
    def bad(self) -> bool:
        return self.verdict is CallVerdict.FAILS or self.verdict is CallVerdict.REFUSES


WORKS = CallResult(CallVerdict.WORKS)
UNKNOWN = CallResult(CallVerdict.UNKNOWN)


def destination_of(url: str) -> str:
    """Scheme, host and port in a normal form: without the port when it is the default of the scheme."""
    parts = urlsplit(url)
    host = (parts.hostname or "").removesuffix(".")
    address = f"[{host}]" if ":" in host else host
    port = "" if parts.port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{parts.port}"
    return f"{parts.scheme}://{address}{port}"


def call_result_from(failure: Failure) -> CallResult:
    verdict = _verdict(failure.type)
    if verdict in (CallVerdict.WORKS, CallVerdict.UNKNOWN):
        return CallResult(verdict)
    error = f"{failure.type}: {failure.message}".replace("\0", "")[:_LONGEST_ERROR]
    return CallResult(verdict, error, failure.retry_after)


def _verdict(kind: str) -> CallVerdict:
    if kind in _DESTINATION_ERRORS:
        return CallVerdict.FAILS
    status = kind.removeprefix("Http")
    if not status.isdecimal():
        return CallVerdict.WORKS if kind == "ResponseTooLarge" else CallVerdict.UNKNOWN
    if int(status) == HTTPStatus.TOO_MANY_REQUESTS:
        return CallVerdict.REFUSES
    return CallVerdict.FAILS if int(status) >= HTTPStatus.INTERNAL_SERVER_ERROR else CallVerdict.WORKS
