"""Runs deliveries: one attempt sends one message to its channel, as the channel is at that time."""

from collections.abc import Awaitable, Callable
from functools import partial
from random import uniform

import msgspec

from tickwork.execute.attempt_ending import AttemptFailed, AttemptPostponed
from tickwork.execute.runners.http.circuit_breaker_runner import Admit, Report, reported_call
from tickwork.execute.runners.notify.channel_sender import ChannelSender
from tickwork.model.channel import StoredChannel
from tickwork.model.channel_secrets import destination_of_channel
from tickwork.model.errors import Unavailable
from tickwork.model.notification_message import NotificationMessage
from tickwork.model.worker_protocol import Failure, Run

ChannelOf = Callable[[int, int], Awaitable[StoredChannel | None]]  # by tenant and channel

_LONGEST_WAIT_POWER = 6  # 2 to this power is the longest delay in seconds before it is tried again
_read_message = msgspec.json.Decoder(NotificationMessage).decode


class NotificationRunner:
    """The circuit breaker of a channel makes its deliveries wait without using attempts, as does a paused channel."""

    def __init__(self, channel_of: ChannelOf, sender: ChannelSender, admit: Admit, report: Report) -> None:
        self._channel_of = channel_of
        self._sender = sender
        self._admit = admit
        self._report = report

    async def __call__(self, run: Run) -> bytes:
        message = _read(run.payload)
        stored = await self._find(run, message)
        if stored.channel.paused:
            raise _later(run, "ChannelPaused", f"the channel {stored.name} is paused")
        breaker = f"channel {stored.id} ({destination_of_channel(stored.channel)})"
        if reason := await self._admit(run, breaker):
            raise _later(run, "CircuitOpen", reason)
        return await reported_call(partial(self._send, stored, message), run, breaker, self._report)

    async def _find(self, run: Run, message: NotificationMessage) -> StoredChannel:
        try:
            stored = await self._channel_of(message.tenant_id, message.channel_id)
        except Unavailable as error:
            raise _later(run, "Unavailable", str(error)) from error
        if stored is None:
            raise AttemptFailed(Failure("ChannelDeleted", "the channel was deleted", retry=False))
        return stored

    async def _send(self, stored: StoredChannel, message: NotificationMessage, run: Run) -> bytes:
        return await self._sender.send(stored, message, run.timeout)


def _read(payload: bytes) -> NotificationMessage:
    try:
        message = _read_message(payload)
    except msgspec.DecodeError as error:
        raise AttemptFailed(Failure("BadMessage", str(error), retry=False)) from error
    if not message.items:
        raise AttemptFailed(Failure("BadMessage", "it tells nothing", retry=False))
    return message


def _later(run: Run, kind: str, reason: str) -> AttemptPostponed:
    longest = 2 ** min(run.attempt, _LONGEST_WAIT_POWER)
    return AttemptPostponed(uniform(longest / 2, longest), Failure(kind, reason))  # noqa: S311 (spread)
