"""Fans out: creates a job for each element of a list that a parent returned, and ends when all of these have completed.

The execution of such a job waits for its parents as any other. When it is ready, no worker gets it: this loop creates
the jobs of the elements, and the execution waits for them as it waited for its parents. When they have completed, it is
ready again, and completes with their results. Each step is one transaction that checks the state, so that any node may
repeat it.

The loop runs when this node has made something true that may concern a fan-out, and when one falls due. It looks by
itself only for what a node that was killed has left behind.
"""

import asyncio
from datetime import timedelta
from typing import Any

import msgspec

from tickwork.define.jobs import Jobs
from tickwork.loop import Loops, Wake
from tickwork.model.bad_row_isolation import BadRowIsolation, error_text
from tickwork.model.errors import Invalid, QueueFull
from tickwork.model.event_after_commit import Event, FanOutDefined
from tickwork.model.execution import NOT_TAKEN
from tickwork.model.for_each import MOST_BYTES, ForEach, NoElements, elements, payload_with
from tickwork.model.job import CreatedJob, JobRequest, for_each_of
from tickwork.model.public_ids import parse_job_id
from tickwork.store.port.define import FanOutStore, ReadyFanOut

_INTERVAL = 5.0  # seconds
_AHEAD = timedelta(seconds=_INTERVAL)
_GATHERED = 0.05  # seconds: what happens within this time wakes the loop once
_TOGETHER = 20
_CANCELLED_TOGETHER = 500  # elements
_UNTIL_THERE_IS_ROOM = timedelta(seconds=5)
_LONGEST_NAME = 200


class _ListNotTaken(Exception):
    """The branch that returns the list was not taken. The text is the reason for skipping."""


class FanOut:
    def __init__(self, store: FanOutStore, jobs: Jobs, wake: Wake) -> None:
        self._store = store
        self._jobs = jobs
        self._wake = wake
        self._isolation = BadRowIsolation("fan out")
        self._are_used = False  # as far as this node knows
        self._timer: asyncio.TimerHandle | None = None

    def add_loops(self, loops: Loops) -> None:
        loops.add("fan out", self.step, every=_INTERVAL)

    def after_define(self, _: FanOutDefined) -> None:
        self._are_used = True

    def after_change(self, _: Event) -> None:
        """What ended may have been a parent or an element. Where there are no fan-outs, nobody asks."""
        if self._are_used:
            self._wake_in(_GATHERED)

    async def step(self) -> bool:
        """Expand or complete what is ready, and cancel what belongs to a cancelled one; whether there may be more."""
        self._are_used = self._are_used or await self._store.are_used()
        return self._are_used and await self._advance_ready()

    async def _advance_ready(self) -> bool:
        found = await self._store.ready(_TOGETHER, _AHEAD)
        ready = [each for each in found if not each.due_in]
        await self._isolation.run_each(ready, self._advance, self._fail)
        cancelled = await self._store.cancel_elements(_CANCELLED_TOGETHER)
        if cancelled:
            self._wake.revoke()
        if coming := [each.due_in.total_seconds() for each in found if each.due_in]:
            self._wake_in(min(coming))
        return len(ready) == _TOGETHER or cancelled is not None

    async def _advance(self, fan_out: ReadyFanOut) -> None:
        if fan_out.is_expanded:
            await self._store.complete(fan_out)
            return
        try:
            requests = await self._requests(fan_out)
            async with self._store.expanding(fan_out) as is_mine:
                if is_mine:
                    made = await self._create(fan_out.key.tenant_id, requests) if requests else []
                    await self._store.link(fan_out, [parse_job_id(job.id) for job in made])
        except _ListNotTaken as reason:
            await self._store.skip(fan_out, str(reason))
        except NoElements as error:
            await self._store.fail(fan_out, str(error))
        except Invalid as invalid:
            await self._store.fail(fan_out, f"an element cannot become a job: {_first(invalid)}")
        except QueueFull as full:
            if full.fits_later:
                await self._store.put_off(fan_out, _UNTIL_THERE_IS_ROOM, f"waits for its queue: {full}")
            else:
                await self._store.fail(fan_out, f"its elements never fit into its queue: {full}")

    async def _create(self, tenant_id: int, requests: list[JobRequest]) -> list[CreatedJob]:
        """The job exists, so its elements run even if its task was retired since."""
        return await self._jobs.create_many(tenant_id, requests, refuses_retired=False)

    async def _requests(self, fan_out: ReadyFanOut) -> list[JobRequest]:
        job = msgspec.json.decode(fan_out.definition, type=JobRequest)
        found = for_each_of(job)
        if found is None:
            raise NoElements("it no longer runs for each element of a list")
        parent, for_each = found
        result, not_taken = await self._store.outcome_of(fan_out, parse_job_id(parent))
        if not_taken:
            raise _ListNotTaken(f"{NOT_TAKEN}: parent {parent} was not taken")
        if result is None:
            raise NoElements(f"parent {parent} returned nothing")
        values = elements(msgspec.json.decode(result), for_each)
        if len(fan_out.payload) * len(values) + len(result) > MOST_BYTES:
            raise NoElements(
                f"the payloads of {len(values):,} elements are more than {MOST_BYTES:,} bytes together"
            )
        await self._store.refuse_if_full(
            fan_out, len(values)
        )  # before thousands of requests are made in vain
        return _requests_of(job, msgspec.json.decode(fan_out.payload), for_each, values)

    async def _fail(self, fan_out: ReadyFanOut, error: Exception) -> None:
        await self._store.fail(fan_out, f"cannot be fanned out: {error_text(error)}")

    def _wake_in(self, seconds: float) -> None:
        """Unless it is woken before that anyway."""
        loop = asyncio.get_running_loop()
        if self._timer and self._timer.when() > loop.time():
            if self._timer.when() <= loop.time() + seconds:
                return
            self._timer.cancel()
        self._timer = loop.call_later(seconds, self._wake.fan_out)


def _requests_of(job: JobRequest, payload: Any, for_each: ForEach, values: list[Any]) -> list[JobRequest]:
    """One-time jobs that are as the job is, each with one element in its payload."""
    alike = msgspec.structs.replace(
        job,
        depends_on=[],
        key=None,
        if_exists="error",
        schedule=None,
        timezone=None,
        heartbeat_url=None,
        ref=None,
    )
    name = (job.name or job.task or "http")[: _LONGEST_NAME - 8]
    return [
        msgspec.structs.replace(
            alike, name=f"{name} [{number}]", payload=payload_with(payload, for_each, value)
        )
        for number, value in enumerate(values)
    ]


def _first(invalid: Invalid) -> str:
    error = invalid.errors[0]
    return f"{error.path} {error.message}"
