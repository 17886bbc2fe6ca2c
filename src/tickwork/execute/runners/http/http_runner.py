"""Runs HTTP jobs: one attempt is one request, and its outcome is what the target answers."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from random import uniform
from typing import TypeVar

import structlog
from yarl import URL

from tickwork.execute.attempt_ending import AttemptAccepted, AttemptFailed, AttemptPostponed
from tickwork.execute.runners.http.build_request import (
    Call,
    Callback,
    content_of,
    headers_of,
    read_call,
    status_call,
)
from tickwork.execute.runners.http.call_metrics import measured_call
from tickwork.execute.runners.http.destination_limit import DestinationFull, DestinationLimits
from tickwork.execute.runners.http.guarded_session import (
    LIMITS_DEFAULT,
    Answer,
    GuardedSession,
    HttpLimits,
    address_denied,
)
from tickwork.execute.runners.http.poll_status_url import accepted_with_status_url
from tickwork.execute.runners.http.ssrf_guard import AddressDenied, AddressPolicy
from tickwork.model.errors import TIMEOUT
from tickwork.model.judge_polled_status import Polled, judge_answer
from tickwork.model.public_ids import job_id
from tickwork.model.worker_protocol import Accepted, Failure, Run

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork")

SecretsOf = Callable[[int], Awaitable[Sequence[str]]]
CallbackOf = Callable[[str, int], Callback]  # of an execution and an attempt

Received = TypeVar("Received")
_MAX_POLL_SECONDS = 30.0
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
        may_take_longer = call.calls_back or call.poll
        seconds = min(run.timeout, _MAX_ANSWER_SECONDS) if may_take_longer else run.timeout
        return await self._guarded(call, run, seconds, self._request)

    async def _guarded(
        self, call: Call, run: Run, seconds: float, request: Callable[[Call, Run], Awaitable[Received]]
    ) -> Received:
        """Make a request if its destination has a free slot, within this time."""
        try:
            async with asyncio.timeout(seconds), self._destination_limits.slot(call.destination):
                return await request(call, run)
        except DestinationFull as full:
            raise self._postpone(call, run) from full
        except AddressDenied as denied:
            _log.warning("an HTTP job was denied an address", job=job_id(run.job), denied=str(denied))
            raise AttemptFailed(address_denied(call.host)) from denied
        except TimeoutError as error:
            message = f"{call.host} did not answer completely within {seconds:g} s"
            raise AttemptFailed(Failure(TIMEOUT, message)) from error

    def _postpone(self, call: Call, run: Run) -> AttemptPostponed:
        message = (
            f"{self._limits.connections_per_host} requests to {call.destination} are in progress and do not end soon; "
            "this one was not sent and will be retried later"
        )
        longest = 2 ** min(run.attempt, _MAX_POSTPONE_POWER)
        return AttemptPostponed(uniform(longest / 2, longest), Failure("DestinationBusy", message))  # noqa: S311 (spread)

    async def poll(self, run: Run, url: str) -> Polled:
        """Look at the status URL of an attempt that its target has accepted. Raises AttemptFailed if it cannot be read,
        and AttemptPostponed if too many requests go there."""
        call = status_call(read_call(run.target or b""), URL(url, encoded=True))
        with measured_call():
            answer = await self._guarded(call, run, _MAX_POLL_SECONDS, self._ask)
        return judge_answer(call.poll.until if call.poll else None, *answer[:2], answer.retry_after)

    async def close(self) -> None:
        await self._session.close()

    async def _ask(self, call: Call, run: Run) -> Answer:
        headers = await self._headers(call, run, b"")
        return await self._session.request(call.method, call.url, headers, None, call.hidden)

    async def _request(self, call: Call, run: Run) -> bytes:
        content = content_of(call, run)
        headers = await self._headers(call, run, content)
        hidden = call.hidden
        if call.calls_back:
            callback = self._callback_of(headers["webhook-id"], run.attempt)
            headers |= callback.headers()
            hidden = (callback.token, *hidden)
        answer = await self._session.request(call.method, call.url, headers, content or None, hidden)
        if answer.status == HTTPStatus.ACCEPTED and call.calls_back:
            raise AttemptAccepted(Accepted(run.timeout, call.heartbeat))
        if answer.status == HTTPStatus.ACCEPTED and call.poll:
            raise AttemptAccepted(accepted_with_status_url(call, call.poll, run, answer))
        return answer.result

    async def _headers(self, call: Call, run: Run, content: bytes) -> dict[str, str]:
        secrets = await self._secrets_of(run.tenant)
        return headers_of(call, run, content, secrets, int(self._now()), tracing=self._tracing)
