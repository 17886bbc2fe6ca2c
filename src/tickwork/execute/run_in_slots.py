"""Runs attempts, as many at once as there are slots, and measures how many the worker completes."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from contextvars import Context as Variables
from contextvars import copy_context
from typing import Any, NamedTuple

import structlog

from tickwork.execute.attempt_ending import Ending, cancelled, ending_of_error, still_running, timed_out
from tickwork.execute.attempt_state import Attempt, Slot
from tickwork.execute.clock import DatabaseClock, Elapsed
from tickwork.execute.lease_expiry import Lease
from tickwork.execute.log.capture import current_log_sink
from tickwork.execute.ready_queue import ReadyQueue
from tickwork.execute.runners.call_async_task import remaining_steps

_CREDIT_AHEAD = (
    0.25  # seconds of work to accept beyond the free slots; servers hand over as far ahead of time
)
_SAMPLE = 0.1  # seconds: a shorter sample is too noisy
_HALF_LIFE = 10.0  # seconds: long enough to remember the rate of one burst until the next


class Throughput:
    def __init__(self, elapsed: Elapsed) -> None:
        self._elapsed = elapsed
        self._since = elapsed()
        self._done = 0
        self._rate = 0.0

    def count(self, done: int) -> None:
        self._done += done

    def extra_credit(self) -> int:
        """How many attempts beyond the free slots the worker will start soon, by its best recent rate."""
        passed = self._elapsed() - self._since
        if passed >= _SAMPLE:
            faded = self._rate * 0.5 ** (passed / _HALF_LIFE)
            self._rate = max(self._done / passed, faded)
            self._since += passed
            self._done = 0
        return int(self._rate * _CREDIT_AHEAD)

    def reset(self) -> None:
        """Forget the rate: it was too high for the attempts that run now."""
        self._rate = 0.0
        self._done = 0
        self._since = self._elapsed()


_YIELD_AFTER = (
    0.005  # seconds that a slot may run attempts that never wait before it yields to the event loop
)
_WAKE_BATCH = 64  # slots to wake at once
_PATIENCE = 5  # beats in which nothing starts, after which all that waits is returned
_GRACE = 2.0  # seconds for code to stop after it was told to
_STUCK_SHARE = 4  # the worker needs a restart when code that does not stop takes one slot in this many
_STUCK_TOO_LONG = 300.0  # seconds; also when any such code runs for longer

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork.worker")


class _Suspended(NamedTuple):
    work: Coroutine[Any, Any, Any]
    variables: Variables
    awaited: Any


class Slots:
    def __init__(
        self,
        count: int,
        clock: DatabaseClock,
        lease: Lease,
        *,
        finish: Callable[[Attempt, Ending], None],
        lease_expired: Callable[[], None],
        needs_restart: Callable[[], None],
    ) -> None:
        self.running: dict[Attempt, None] = {}  # oldest first; attempts that never wait are not listed
        self._count = count
        self._clock = clock
        self._lease = lease
        self._finish = finish
        self._lease_expired = lease_expired
        self._needs_restart = needs_restart
        self._ready = ReadyQueue()
        self._tasks: set[Slot] = set()
        self._idle_slots: dict[asyncio.Future[None], None] = {}
        self._starting = 0  # slots that were woken or created and do not run yet
        self._stopping: set[Attempt] = set()
        self._stuck: set[Attempt] = set()  # the part of _stopping that did not stop within the grace period
        self._added_since_beat = 0
        self._ready_at_beat = 0
        self._beats_without_start = 0  # in a row, while some were ready
        self._closed = False

    @property
    def usable(self) -> int:
        return self._count - len(self._stopping)

    def put(self, attempts: Sequence[Attempt]) -> None:
        self._ready.extend(attempts)
        self._added_since_beat += len(attempts)
        self.wake()

    def surplus(self) -> list[Attempt]:
        """Remove and return the ready attempts that would wait for longer than until the next beat, judged by how many
        started since the last one. Called at every beat; empty unless some have waited since then. As many as there are
        slots stay, to start next, but not for ever: their time limits count from soon after they were handed over."""
        started = self._ready_at_beat + self._added_since_beat - len(self._ready)
        self._beats_without_start = 0 if started or not self._ready else self._beats_without_start + 1
        kept = started + self.usable if self._beats_without_start < _PATIENCE else 0
        too_many = len(self._ready) - kept if started < self._ready_at_beat else 0
        taken = [self._ready.pop() for _ in range(too_many)]
        self._added_since_beat, self._ready_at_beat = 0, len(self._ready)
        return taken

    def wake(self, at_once: int = 1) -> None:
        """Wake idle slots, or create slots, for the attempts that are ready."""
        for _ in range(min(at_once, len(self._ready)) - self._starting):
            if not self._wake_one() and not self._create_one():
                return
            self._starting += 1

    def stop(self, attempt: Attempt, ending: Ending) -> None:
        """Cancel a running attempt. It ends with this ending, whatever its code does then."""
        if attempt.slot is None or attempt not in self.running or attempt.stopped_as is not None:
            return  # it has ended: its slot may run another attempt
        attempt.stopped_as = ending
        if attempt.context:
            attempt.context.cancel()
        attempt.slot.cancel()
        self._stopping.add(attempt)
        asyncio.get_running_loop().call_later(_GRACE, self._give_up_waiting, attempt)

    def clear(self) -> None:
        """Forget the attempts that are ready."""
        self._ready.clear()

    async def close(self) -> None:
        self._closed = True
        self.clear()
        for wakeup in self._idle_slots:
            wakeup.cancel()
        for attempt in list(self.running):
            self.stop(attempt, cancelled("the worker was stopped"))
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_GRACE)
        for slot in self._tasks:
            slot.cancel()

    def _wake_one(self) -> bool:
        while self._idle_slots:
            wakeup, _ = self._idle_slots.popitem()
            if not wakeup.done():
                wakeup.set_result(None)
                return True
        return False

    def _create_one(self) -> bool:
        if len(self._tasks) >= self._count:
            return False
        slot = asyncio.create_task(self._serve(), name="tickwork slot")
        slot.add_done_callback(self._replace)
        self._tasks.add(slot)
        return True

    def _replace(self, slot: Slot) -> None:
        """A user's task can cancel the asyncio task of its slot at any time, so a lost slot is replaced."""
        self._tasks.discard(slot)
        if not self._closed:
            self.wake()

    async def _serve(self) -> None:
        slot = asyncio.current_task()
        assert slot  # noqa: S101 (for the type checker)
        self._starting -= 1
        while not self._closed:
            if not self._ready:
                await self._idle()
            elif self._clock.elapsed() > self._lease.deadline:
                self._lease_expired()
                await self._idle()
            else:
                await self._run_ready(slot)

    async def _idle(self) -> None:
        wakeup = asyncio.get_running_loop().create_future()
        self._idle_slots[wakeup] = None
        try:
            await wakeup
        finally:
            if wakeup.cancelled():
                self._idle_slots.pop(wakeup, None)
            else:
                self._starting -= 1

    async def _run_ready(self, slot: Slot) -> None:
        """Run ready attempts until one of them has to wait, or until it is time to yield to the event loop."""
        now = self._clock.elapsed()
        yield_at = now + _YIELD_AFTER
        suspended = None
        while self._ready and not suspended and now <= yield_at:
            attempt = self._ready.popleft()
            if not attempt.done:
                suspended = self._begin(attempt, now)
                if suspended:
                    await self._run_to_end(attempt, suspended, slot)
                if slot.cancelling():
                    await _absorb_cancellation(slot)
            now = self._clock.elapsed()
        if not suspended:
            await asyncio.sleep(0)

    def _begin(self, attempt: Attempt, now: float) -> _Suspended | None:
        """Run the attempt up to its first wait. Many attempts end without one."""
        # The clock may have been corrected since the attempt was found to be due.
        attempt.started = max(self._clock.at(now), attempt.run.not_before)
        try:
            work = attempt.handler.begin(attempt)
            current_log_sink.set(attempt)
            variables = copy_context()
            return _Suspended(work, variables, variables.run(work.send, None))
        except StopIteration as end:
            ending = attempt.handler.conclude(end.value)
        except BaseException as error:  # noqa: BLE001 (even SystemExit is only the end of this attempt)
            ending = ending_of_error(error)
        self._finish(attempt, ending)
        return None

    async def _run_to_end(self, attempt: Attempt, suspended: _Suspended, slot: Slot) -> None:
        attempt.slot = slot
        self.running[attempt] = None
        self.wake(_WAKE_BATCH)
        timer = asyncio.get_running_loop().call_later(attempt.run.timeout, self._time_out, attempt)
        try:
            ending = attempt.handler.conclude(await remaining_steps(*suspended))
        except GeneratorExit:
            raise  # the event loop is closed
        except BaseException as error:  # noqa: BLE001 (as above)
            ending = ending_of_error(error)
        finally:
            timer.cancel()
            del self.running[attempt]
            self._stopping.discard(attempt)
            self._stuck.discard(attempt)
        self._finish(attempt, attempt.stopped_as or ending)

    def _time_out(self, attempt: Attempt) -> None:
        self.stop(attempt, timed_out(attempt.run.timeout))

    def _give_up_waiting(self, attempt: Attempt) -> None:
        if attempt not in self.running or not attempt.stopped_as or self._closed:
            return
        self._finish(attempt, still_running(attempt.stopped_as))
        _log.warning(
            "a task was told to stop but still runs; its slot stays taken until it ends",
            task=attempt.run.task,
            execution=attempt.execution_id,
        )
        self._stuck.add(attempt)
        if len(self._stuck) * _STUCK_SHARE >= self._count:
            self._needs_restart()
        asyncio.get_running_loop().call_later(_STUCK_TOO_LONG, self._stuck_too_long, attempt)

    def _stuck_too_long(self, attempt: Attempt) -> None:
        if attempt in self._stuck:
            self._needs_restart()


async def _absorb_cancellation(slot: Slot) -> None:
    """Keep a cancellation that was meant for one attempt from reaching the next."""
    while slot.uncancel():
        pass
    with suppress(asyncio.CancelledError):
        await asyncio.sleep(0)
