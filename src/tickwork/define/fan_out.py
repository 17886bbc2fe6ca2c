"""Fans out: creates a job for each element of a list that a parent returned, and ends when all of these have completed.

The execution of such a job waits for its parents as any other. When it is ready, no worker gets it: this loop creates
the jobs of the elements, and the execution waits for them as it waited for its parents. When they have completed, it is
ready again, and completes with their results. Each step is one transaction that checks the state, so that any node may
repeat it.
"""

from datetime import timedelta
from typing import Any

import msgspec

from tickwork.define.jobs import Jobs
from tickwork.loop import Loops
from tickwork.model.bad_row_isolation import BadRowIsolation, error_text
from tickwork.model.errors import Invalid, QueueFull
from tickwork.model.execution import NOT_TAKEN
from tickwork.model.for_each import MOST_BYTES, ForEach, NoElements, elements, payload_with
from tickwork.model.job import JobRequest, for_each_of
from tickwork.model.public_ids import parse_job_id
from tickwork.store.port.define import FanOutStore, ReadyFanOut

_INTERVAL = 0.5  # seconds
_TOGETHER = 20
_UNTIL_THERE_IS_ROOM = timedelta(seconds=5)
_LONGEST_NAME = 200


class _ListNotTaken(Exception):
    """The branch that returns the list was not taken. The text is the reason for skipping."""


class FanOut:
    def __init__(self, store: FanOutStore, jobs: Jobs) -> None:
        self._store = store
        self._jobs = jobs
        self._isolation = BadRowIsolation("fan out")

    def add_loops(self, loops: Loops) -> None:
        loops.add("fan out", self.step, every=_INTERVAL)

    async def step(self) -> bool:
        """Expand or complete what is ready; whether there may be more."""
        ready = await self._store.ready(_TOGETHER)
        await self._isolation.run_each(ready, self._advance, self._fail)
        return len(ready) == _TOGETHER

    async def _advance(self, fan_out: ReadyFanOut) -> None:
        if fan_out.is_expanded:
            await self._store.complete(fan_out)
            return
        try:
            requests = await self._requests(fan_out)
            async with self._store.expanding(fan_out) as is_mine:
                if is_mine:
                    made = await self._jobs.create_many(fan_out.key.tenant_id, requests) if requests else []
                    await self._store.link(fan_out, [parse_job_id(job.id) for job in made])
        except _ListNotTaken as reason:
            await self._store.skip(fan_out, str(reason))
        except NoElements as error:
            await self._store.fail(fan_out, str(error))
        except Invalid as invalid:
            await self._store.fail(fan_out, f"an element cannot become a job: {_first(invalid)}")
        except QueueFull:
            await self._store.put_off(fan_out, _UNTIL_THERE_IS_ROOM)

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
        return _requests_of(job, msgspec.json.decode(fan_out.payload), for_each, values)

    async def _fail(self, fan_out: ReadyFanOut, error: Exception) -> None:
        await self._store.fail(fan_out, f"cannot be fanned out: {error_text(error)}")


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
