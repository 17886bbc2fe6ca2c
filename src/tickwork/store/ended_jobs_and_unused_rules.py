"""Deletes recurring jobs that ended before the history that is kept, and rules that no job has any more.

A job has ended when it was cancelled, had its last run, or has a schedule without further due times. A paused job has
not: somebody may resume it. Jobs that others depended on are deleted in a later pass.
"""

from datetime import timedelta

import asyncpg

from tickwork.store.pool import Connection, Database
from tickwork.store.query_files import queries

_JOBS_TOGETHER = 200
_RULES_TOGETHER = 1000
_PLACE = 2  # columns before those that say where the next look begins
# By query, where its first look begins.
_BEGINNINGS: dict[str, tuple[int, ...]] = {
    "lock_stopped_jobs": (0,),  # an id
    "lock_jobs_without_due_times": (0, 0, 0, 0),  # tenant, rule, priority, id
}


class EndedJobs:
    def __init__(self, database: Database, history_days: int) -> None:
        self._database = database
        self._history = timedelta(days=history_days)
        self._sql = queries("ended_jobs_and_unused_rules")
        self._places = dict(_BEGINNINGS)
        self._rule = 0  # up to which rules were looked at

    async def forget(self) -> bool:
        """Look at some ended jobs, and at some rules. Whether there are more."""
        more = [await self._forget_jobs(kind) for kind in _BEGINNINGS]
        return any([*more, await self._forget_rules()])

    async def _forget_jobs(self, kind: str) -> bool:
        async with self._database.transaction() as connection:
            locked = await connection.fetch(
                self._sql[kind], self._history, _JOBS_TOGETHER, *self._places[kind]
            )
            gone = await connection.fetch(self._sql["those_without_history"], [job["id"] for job in locked])
            for job in gone:
                await _delete(connection, job["tenant_id"], job["id"])
        more = len(locked) == _JOBS_TOGETHER
        self._places[kind] = tuple(locked[-1])[_PLACE:] if more else _BEGINNINGS[kind]
        return more

    async def _forget_rules(self) -> bool:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["forget_past_rules"], self._history)
            locked = await connection.fetch(self._sql["lock_unused_rules"], _RULES_TOGETHER)
            locked += await self._lock_among_next(connection)
            await connection.execute(self._sql["forget_rules"], [rule["id"] for rule in locked])
        return len(locked) >= _RULES_TOGETHER

    async def _lock_among_next(self, connection: Connection) -> list[asyncpg.Record]:
        """Of the next rules, whether they fire or not. There may be millions, so each step looks at some."""
        last = await connection.fetchrow(self._sql["last_of_next_rules"], self._rule, _RULES_TOGETHER)
        if last is None or last["id"] is None:
            self._rule = 0
            return []
        locked = await connection.fetch(self._sql["lock_unused_rules_between"], self._rule, last["id"])
        self._rule = last["id"] if last["number"] == _RULES_TOGETHER else 0
        return locked


async def _delete(connection: Connection, tenant_id: int, job: int) -> None:
    sql = queries("purge_job")
    await connection.execute(sql["purge_belongings"], tenant_id, job)
    await connection.execute(sql["purge_job"], tenant_id, job)
