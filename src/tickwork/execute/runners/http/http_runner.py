"""Runs HTTP jobs: one attempt is one request, and its outcome is what the target answers."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from random import uniform

import structlog

from tickwork.execute.attempt_ending import AttemptAccepted, AttemptFailed, AttemptPostponed
from tickwork.execute.runners.http.build_request import Call, Callback, content_of, headers_of, read_call
from tickwork.execute.runners.http.call_metrics import measured_call
from tickwork.execute.runners.http.destination_limit import DestinationFull, DestinationLimits
from tickwork.execute.runners.http.guarded_session import (
    LIMITS_DEFAULT,
    GuardedSession,
    HttpLimits,
    address_denied,
)
from tickwork.execute.runners.http.ssrf_guard import AddressDenied, AddressPolicy
from tickwork.model.errors import TIMEOUT
from tickwork.model.public_ids import job_id
from tickwork.model.worker_protocol import Accepted, Failure, Run

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork")

SecretsOf = Callable[[int], Awaitable[Sequence[str]]]
CallbackOf = Callable[[str, int], Callback]  # of an execution and an attempt

_MAX_ANSWER_SECONDS = 300.0  # for a target that may answer 202: its timeout is for what comes after

_MAX_POSTPONE_POWER = (
    6  # 2 to this power is the longest delay in seconds before a full destination is tried again
)


class HttpRunner:
    """Create it inside the running event loop. `secrets_of` returns a tenant's signing secrets: none, one, or the old
    and the new one during a change. It is awaited for every attempt, so it should cache them. `callback_of` returns
    where the target of an attempt reports if it finishes later."""

    def __init__(
        self,
        policy: AddressPolicy,
        secrets_of: SecretsOf,
        limits: HttpLimits = LIMITS_DEFAULT,
        now: Callable[[], float] = time.time,
        *,
        callback_of: CallbackOf,
        tracing: bool = False,
    ) -> None:
        self._tracing = tracing
        self._secrets_of = secrets_of
        self._callback_of = callback_of
        self._limits = limits
        self._now = now
        self._session = GuardedSession(policy, limits, now)
        self._destination_limits = DestinationLimits(limits.connections_per_host, limits.slot_wait)

    async def __call__(self, run: Run) -> bytes:
        with measured_call():
            return await self._call(run)

    async def _call(self, run: Run) -> bytes:
        call = read_call(run.target or b"")
        timeout = min(run.timeout, _MAX_ANSWER_SECONDS) if call.calls_back else run.timeout
        try:
            async with asyncio.timeout(timeout), self._destination_limits.slot(call.destination):
                return await self._request(call, run)
        except DestinationFull as full:
            raise self._postpone(call, run) from full
        except AddressDenied as denied:
            _log.warning("an HTTP job was denied an address", job=job_id(run.job), denied=str(denied))
            raise AttemptFailed(address_denied(call.host)) from denied
        except TimeoutError as error:
            message = f"{call.host} did not answer completely within {timeout:g} s"
            raise AttemptFailed(Failure(TIMEOUT, message)) from error

    def _postpone(self, call: Call, run: Run) -> AttemptPostponed:
        message = (
            f"{self._limits.connections_per_host} requests to {call.destination} are in progress and do not end soon; "
            "this one was not sent and will be retried later"
        )
        longest = 2 ** min(run.attempt, _MAX_POSTPONE_POWER)
        return AttemptPostponed(uniform(longest / 2, longest), Failure("DestinationBusy", message))  # noqa: S311 (spread)

    async def close(self) -> None:
        await self._session.close()

    async def _request(self, call: Call, run: Run) -> bytes:
        secrets = await self._secrets_of(run.tenant)
        headers = headers_of(call, run, secrets, int(self._now()), tracing=self._tracing)
        content = content_of(call, run) or None
        if not call.calls_back:
            return (await self._session.request(call.method, call.url, headers, content, call.hidden)).result
        callback = self._callback_of(headers["webhook-id"], run.attempt)
        answer = await self._session.request(
            call.method, call.url, headers | callback.headers(), content, (callback.token, *call.hidden)
        )
        if answer.status == HTTPStatus.ACCEPTED:
            raise AttemptAccepted(Accepted(run.timeout, call.heartbeat))
        return answer.result
