"""Where an HTTP job calls, and what a call tells about it."""

from enum import Enum, auto
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import urlsplit

from tickwork.model.worker_protocol import Failure

_DEFAULT_PORTS = {"http": 80, "https": 443}
_OUT_OF_ORDER = frozenset(
    {"ConnectError", "ConnectTimeout", "ConnectionLost", "DnsError", "TlsError", "BadResponse", "Timeout"}
)
_LONGEST_ERROR = 300


class Sign(Enum):
    WORKS = auto()  # it answered, if only that the request is wrong
    FAILS = auto()  # it could not be reached, broke off, did not end in time, or says that it is broken
    REFUSES = auto()  # it is there, and asks not to be called so often
    NOTHING = auto()  # it was not called, or the call was given up


class Heard(NamedTuple):
    """What one call tells about its destination."""

    sign: Sign
    error: str | None = None
    retry_after: float = 0.0  # seconds that the destination asks for

    @property
    def bad(self) -> bool:
        return self.sign is Sign.FAILS or self.sign is Sign.REFUSES


WORKS = Heard(Sign.WORKS)
NOTHING = Heard(Sign.NOTHING)


def destination_of(url: str) -> str:
    """Scheme, host and port, written in one way; the port only where it is not the usual one."""
    parts = urlsplit(url)
    host = (parts.hostname or "").removesuffix(".")
    address = f"[{host}]" if ":" in host else host
    port = "" if parts.port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{parts.port}"
    return f"{parts.scheme}://{address}{port}"


def heard_from(failure: Failure) -> Heard:
    sign = _sign(failure.type)
    if sign in (Sign.WORKS, Sign.NOTHING):
        return Heard(sign)
    error = f"{failure.type}: {failure.message}".replace("\0", "")[:_LONGEST_ERROR]
    return Heard(sign, error, failure.retry_after)


def _sign(kind: str) -> Sign:
    if kind in _OUT_OF_ORDER:
        return Sign.FAILS
    status = kind.removeprefix("Http")
    if not status.isdecimal():
        return Sign.WORKS if kind == "ResponseTooLarge" else Sign.NOTHING
    if int(status) == HTTPStatus.TOO_MANY_REQUESTS:
        return Sign.REFUSES
    return Sign.FAILS if int(status) >= HTTPStatus.INTERNAL_SERVER_ERROR else Sign.WORKS
