"""Sends one message by apprise, in a process of its own: its sender kills the process at the deadline.

apprise blocks, and each of its services connects in its own way. So an audit hook of Python watches the whole process:
it refuses connections that the address policy denies, other programs, and files that are no part of Python or of the
system's libraries.
"""

import logging
import os
import ssl
import sys
from collections.abc import Iterator
from ipaddress import ip_address
from sysconfig import get_path
from typing import Any

import msgspec

import tickwork
from tickwork.execute.runners.http.ssrf_guard import AddressPolicy, parse_network

_CONNECTS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_STARTS_A_PROGRAM = frozenset(
    {"subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork", "os.startfile"}
)
_TYPES = {"info": "info", "warning": "warning", "error": "failure"}  # apprise's words for a severity
_MOST_LINES, _LONGEST_LINE = 10, 300


class AppriseCall(msgspec.Struct, frozen=True):
    url: str
    title: str
    body: str
    severity: str
    allow: list[str]  # networks that may be called besides the public internet


class AppriseResult(msgspec.Struct, frozen=True):
    sent: bool
    said: list[str] = []  # lines of apprise's log
    denied: str | None = None  # an address, for the server's log only
    refused: str | None = None  # something else that it must not do
    unknown: bool = False  # apprise does not know such a URL


class ProcessGuard:
    """An audit hook. It cannot be removed again."""

    def __init__(self, policy: AddressPolicy) -> None:
        self._policy = policy
        self._libraries = tuple(map(os.path.realpath, _libraries()))
        self.denied: str | None = None
        self.refused: str | None = None

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in _CONNECTS and arguments[1] is not None:
            self._check_address(arguments[1])
        elif event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
            self._check_file(os.fsdecode(arguments[0]))
        elif event in _STARTS_A_PROGRAM:
            self._refuse("start another program")

    def _check_address(self, address: Any) -> None:
        host = address[0] if isinstance(address, tuple) else None
        try:
            reason = self._policy.denial(ip_address(str(host).partition("%")[0]))
        except ValueError:
            reason = "no address on a network"
        if reason:
            self.denied = self.denied or f"{host} is {reason}"
            raise PermissionError

    def _check_file(self, path: str) -> None:
        real = os.path.realpath(path)
        if not any(real == library or real.startswith(library + os.sep) for library in self._libraries):
            self._refuse("use files of the server")

    def _refuse(self, what: str) -> None:
        self.refused = self.refused or what
        raise PermissionError


def _libraries() -> Iterator[str]:
    """Files and folders that code may need. Not all of sys.path: it may have the folder with the server's keys."""
    yield from (get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib"))
    yield from (path for path in sys.path if path.endswith(("site-packages", "dist-packages")))
    yield os.path.dirname(tickwork.__file__)  # noqa: PTH120 (a text, as all of these)
    yield from ("/usr/lib", "/usr/share", "/etc/ssl", "/etc/mime.types", "/dev/null", "/dev/urandom")
    paths = ssl.get_default_verify_paths()
    yield from filter(None, (paths.cafile, paths.capath))


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if len(self.lines) < _MOST_LINES:
            self.lines.append(record.getMessage()[:_LONGEST_LINE])


def send(call: AppriseCall) -> AppriseResult:
    from apprise import Apprise, NotifyFormat  # noqa: PLC0415 (an extra)

    guard = ProcessGuard(AddressPolicy(tuple(map(parse_network, call.allow))))
    log = _Lines()
    logging.getLogger("apprise").addHandler(log)
    sys.addaudithook(guard)
    receiver = Apprise.instantiate(call.url)
    if not receiver:
        return AppriseResult(False, log.lines, guard.denied, guard.refused, unknown=True)
    sending = Apprise(receiver)
    sent = sending.notify(
        body=call.body, title=call.title, notify_type=_TYPES[call.severity], body_format=NotifyFormat.TEXT
    )
    return AppriseResult(bool(sent), log.lines, guard.denied, guard.refused)


def main() -> None:
    call = msgspec.json.decode(sys.stdin.buffer.read(), type=AppriseCall)
    answer = msgspec.json.encode(send(call))
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
