"""Sends messages by apprise, each in a child process that is killed at its deadline. apprise is an extra."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec

import msgspec

from tickwork.execute.attempt_ending import AttemptFailed
from tickwork.execute.runners.http.ssrf_guard import AddressDenied, AddressPolicy
from tickwork.execute.runners.notify.apprise_child import AppriseCall, AppriseResult
from tickwork.execute.runners.notify.render_message import Rendered
from tickwork.model.http_secrets import mask_secrets
from tickwork.model.worker_protocol import Failure

_AT_ONCE = 4  # processes: each takes up to a second to start
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "SSL_CERT_FILE", "SSL_CERT_DIR", "SYSTEMROOT")  # of the environment


def is_apprise_installed() -> bool:
    return find_spec("apprise") is not None


class AppriseSender:
    def __init__(self, policy: AddressPolicy) -> None:
        self._allow = [str(network) for network in policy.allow]
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def send(self, url: str, rendered: Rendered, hidden: Sequence[str]) -> bytes:
        """Raises AttemptFailed or AddressDenied. `hidden`: secrets to mask."""
        if not is_apprise_installed():
            raise AttemptFailed(Failure("ExtraMissing", "install tickwork[apprise] on every server"))
        call = AppriseCall(url, rendered.title, rendered.text, rendered.severity, self._allow)
        async with self._slots:
            result = await _call(call)
        service = url.partition("://")[0]
        if result.denied:
            raise AddressDenied(f"apprise ({service}): {result.denied}")
        if result.refused and not result.sent:
            message = f"{service} would have to {result.refused}, which no channel may"
            raise AttemptFailed(Failure("ServiceRefused", message, retry=False))
        said = mask_secrets("; ".join(result.said), hidden)
        if result.unknown:
            message = f"apprise knows no such URL of {service}" + (f": {said}" if said else "")
            raise AttemptFailed(Failure("BadTarget", message, retry=False))
        if not result.sent:
            raise AttemptFailed(
                Failure("AppriseFailed", f"apprise could not send it: {said or 'no reason given'}")
            )
        return msgspec.json.encode({"answer": said or "sent"})


async def _call(call: AppriseCall) -> AppriseResult:
    """The process gets no secrets of this server: its environment is almost empty."""
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-B", "-m", "tickwork.execute.runners.notify.apprise_child"),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env=environment | {"PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
    )
    try:
        answer, _ = await child.communicate(msgspec.json.encode(call))
    finally:
        await _kill(child)
    try:
        return msgspec.json.decode(answer, type=AppriseResult)
    except msgspec.DecodeError:
        message = f"apprise ended with exit code {child.returncode} and without an answer"
        raise AttemptFailed(Failure("AppriseFailed", message)) from None


async def _kill(child: Process) -> None:
    """At the deadline, with all that it started."""
    if child.returncode is None:
        with suppress(ProcessLookupError):
            if hasattr(os, "killpg"):
                os.killpg(child.pid, signal.SIGKILL)
            else:
                child.kill()
        await child.wait()
