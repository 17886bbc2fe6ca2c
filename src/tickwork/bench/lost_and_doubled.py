"""Lost and doubled executions: what was due, what the tasks wrote down, and what the database recorded."""

import asyncio
from array import array
from typing import NamedTuple

from tickwork.bench.bench_cluster import Stage
from tickwork.bench.progress import Show

_LOOK = 0.2
_ENDED_WITHIN = 300.0
_UNENDED = """
SELECT EXISTS (SELECT FROM tickwork.lease) OR EXISTS (SELECT FROM tickwork.execution WHERE ready_at IS NOT NULL)
"""
_HISTORY = """
SELECT (convert_from(j.payload, 'UTF8')::jsonb ->> 'n')::int AS n, e.completed, e.skipped
FROM (SELECT job_id, count(*) FILTER (WHERE status = 'completed') AS completed,
          count(*) FILTER (WHERE status = 'skipped') AS skipped
      FROM tickwork.execution GROUP BY job_id) AS e
JOIN tickwork.job j ON j.id = e.job_id AND j.task = ANY($1)
"""
_MISSED = "SELECT coalesce(sum(missed), 0)::bigint FROM tickwork.round"


class Balance(NamedTuple):
    due: int
    ran: int
    lost: int  # due and not run, or run and not recorded as completed
    doubled: int  # run more often than due
    skipped: int  # the one before had not ended
    missed: int  # due times that rules passed over, because they were too late

    def details(self) -> dict[str, int]:
        return {"due": self.due, "ran": self.ran, "skipped": self.skipped, "missed_due_times": self.missed}


async def settle_accounts(on: Stage, due: "array[int]", show: Show, *tasks: str) -> Balance:
    """Once everything has ended. `due` says how often each job was to run, by its number."""
    await until_ended(on, show)
    show.say("comparing what was due with what ran and what is recorded")
    ran = on.ledgers.counts(len(due))
    completed, skipped = array("I", bytes(4 * len(due))), array("I", bytes(4 * len(due)))
    for number, done, passed in await on.database.fetch(_HISTORY, list(tasks), timeout=600):
        completed[number], skipped[number] = done, passed
    return balance(due, ran, completed, skipped)._replace(missed=await on.database.fetchval(_MISSED))


def balance(due: "array[int]", ran: "array[int]", completed: "array[int]", skipped: "array[int]") -> Balance:
    lost = doubled = 0
    for times, runs, records, passed in zip(due, ran, completed, skipped, strict=True):
        lost += max(times - passed - runs, runs - records, 0)
        doubled += max(runs - (times - passed), 0)
    return Balance(sum(due), sum(ran), lost, doubled, sum(skipped), 0)


async def until_ended(on: Stage, show: Show) -> None:
    async with asyncio.timeout(_ENDED_WITHIN):
        while await on.database.fetchval(_UNENDED):
            show.update(f"waiting for the rest: {on.ledgers.total():,} executions so far")
            await asyncio.sleep(_LOOK)
