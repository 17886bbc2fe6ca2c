"""Asks the status URLs of HTTP targets that have accepted an attempt, and records what they say.

Any node may ask: the one that takes an attempt has it for a while, and if it dies, another one asks later. A status
that says that the target still works changes nothing but the time of the next look.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeAlias

import msgspec
import structlog

from tickwork.model.errors import Unavailable
from tickwork.model.execution import AttemptOutcome
from tickwork.model.http_target import HttpTarget
from tickwork.model.job import HTTP_TASK
from tickwork.model.judge_polled_status import Polled
from tickwork.model.public_ids import execution_id, to_micros
from tickwork.model.quantities import parse_duration
from tickwork.model.status_poll import LONGEST_INTERVAL, StatusPoll
from tickwork.model.worker import WITH_TARGET
from tickwork.model.worker_protocol import Micros, Outcome, Run
from tickwork.record.outcomes import OutcomeRecorder
from tickwork.store.port.callback import CallbackWaitStore, DuePoll

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork.record")
_MOST_AT_ONCE = 100  # on one node
_TAKEN_FOR = timedelta(minutes=2)  # longer than an answer may take
_ANSWER_WITHIN = 30.0  # seconds

StatusPoller: TypeAlias = Callable[[Run, str], Awaitable[Polled]]


class StatusPolls:
    def __init__(
        self,
        store: CallbackWaitStore,
        recorder: OutcomeRecorder,
        now: Callable[[], Micros],
    ) -> None:
        self._store = store
        self._recorder = recorder
        self._now = now
        self._poller: StatusPoller | None = None  # None: this node makes no HTTP calls
        self._asking: set[asyncio.Task[None]] = set()

    def ask_by(self, poller: StatusPoller) -> None:
        """From now on, this node asks."""
        self._poller = poller

    async def start_due(self) -> bool:
        """Begin to ask the status URLs that are due; whether there may be more."""
        poller, free = self._poller, _MOST_AT_ONCE - len(self._asking)
        if poller is None or free <= 0:
            return False
        due = await self._store.take_due_polls(free, _TAKEN_FOR)
        for poll in due:
            asking = asyncio.create_task(self._ask(poller, poll), name="poll target")
            self._asking.add(asking)
            asking.add_done_callback(self._asking.discard)
        return False

    async def settle(self) -> None:
        """Wait until all that were asked have answered."""
        while self._asking:
            await asyncio.wait(set(self._asking))

    async def close(self) -> None:
        """Another node asks again."""
        for asking in self._asking:
            asking.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)

    async def _ask(self, poller: StatusPoller, poll: DuePoll) -> None:
        try:
            polled = await poller(_run_of(poll), poll.status_url)
            if polled.kind is None:
                await self._store.set_next_poll(poll.lease_id, _next_look(poll, polled))
            else:
                await self._record(poll, polled.kind, polled)
        except Unavailable:
            return  # it is asked again when the database is back
        except Exception:  # noqa: BLE001 (one target must not stop the others; it is asked again)
            _log.exception("a target could not be asked", execution=_name(poll))

    async def _record(self, poll: DuePoll, kind: AttemptOutcome, polled: Polled) -> None:
        recorded = asyncio.Event()
        self._recorder.submit(
            WITH_TARGET,
            [_outcome(poll, kind, polled, self._now())],
            [poll.lane_id],
            [poll.lease_id],
            recorded.set,
        )
        await recorded.wait()


def _run_of(poll: DuePoll) -> Run:
    tenant_id, scheduled_for, job = poll.key
    at = to_micros(scheduled_for)
    return Run(tenant_id, at, job, poll.attempt, HTTP_TASK, b"", _ANSWER_WITHIN, at, poll.target)


def _outcome(poll: DuePoll, kind: AttemptOutcome, polled: Polled, now: Micros) -> Outcome:
    tenant_id, scheduled_for, job = poll.key
    started = to_micros(poll.started_at) if poll.started_at else now
    return Outcome(
        tenant_id,
        to_micros(scheduled_for),
        job,
        poll.attempt,
        kind,
        started,
        max(started, now),
        polled.result,
        polled.failure,
    )


def _next_look(poll: DuePoll, polled: Polled) -> timedelta:
    settings = msgspec.json.decode(poll.target, type=HttpTarget).poll or StatusPoll()
    return min(max(parse_duration(settings.every), timedelta(seconds=polled.wait)), LONGEST_INTERVAL)


def _name(poll: DuePoll) -> str:
    return execution_id(poll.key.job_id, poll.key.scheduled_for)
