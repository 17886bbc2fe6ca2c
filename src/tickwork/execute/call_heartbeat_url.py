"""Calls heartbeat URLs: one GET each, under the rules for HTTP jobs. Only whether it succeeded counts."""

import asyncio

import msgspec

from tickwork.execute.attempt_ending import AttemptFailed
from tickwork.execute.runners.http.build_request import read_call
from tickwork.execute.runners.http.guarded_session import GuardedSession, HttpLimits, address_denied
from tickwork.execute.runners.http.ssrf_guard import AddressDenied, AddressPolicy
from tickwork.model.http_target import HttpTarget

_TIMEOUT = 5.0  # seconds
_LIMITS = HttpLimits(connections=100, connections_per_host=20)


class HeartbeatCaller:
    """Opens its session with the first call: most installations make none."""

    def __init__(self, policy: AddressPolicy) -> None:
        self._policy = policy
        self._session: GuardedSession | None = None

    async def call(self, url: str) -> str | None:
        """What went wrong; None if it was answered with success."""
        call = read_call(msgspec.json.encode(HttpTarget(url, "GET")))
        self._session = self._session or GuardedSession(self._policy, _LIMITS)
        try:
            async with asyncio.timeout(_TIMEOUT):
                status = await self._session.status_of(call.url, call.hidden)
        except AddressDenied:
            return address_denied(call.host).message
        except AttemptFailed as failed:
            return failed.failure.message
        except TimeoutError:
            return f"{call.host} did not answer within {_TIMEOUT:g} s"
        is_success = 200 <= status < 300  # noqa: PLR2004 (2xx is what it is)
        return None if is_success else f"{call.host} answered {status}"

    async def close(self) -> None:
        if self._session:
            await self._session.close()
