"""Writes the dependencies of jobs, in the transaction that creates or changes them.

Locks are taken from the top down: rules, then parents, then children. Ending an execution locks in the same order, so
the two cannot deadlock.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from tickwork.model.errors import Conflict, Invalid
from tickwork.model.job import JobSpec, JobStatus
from tickwork.model.parsed_schedule_and_preview import Recurring
from tickwork.model.public_ids import job_id
from tickwork.store.lock_schedule_rules import ConcurrentChange
from tickwork.store.pool import Connection, Database
from tickwork.store.query_files import queries, rows_written


class PostgresDependencyStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("write_dependencies")

    async def skip_rounds_without_parents(self, limit: int) -> int:
        """Decide about parents that may not be due in the rounds of their children. Returns about how many."""
        async with self._database.transaction() as connection:
            answer = await connection.execute(self._sql["resolve_unsure_parents"], limit)
            decided = rows_written(answer)
            if decided:
                await connection.execute(self._sql["count_ended"])
        return decided


class JobDependencies:
    def __init__(self, connection: Connection, tenant_id: int) -> None:
        self._connection = connection
        self._tenant_id = tenant_id
        self._sql = queries("write_dependencies")

    async def rules_of_jobs(self, parents: Sequence[int]) -> list[int]:
        """The rules of these jobs."""
        if not parents:
            return []
        rows = await self._connection.fetch(self._sql["rules_of_jobs"], self._tenant_id, parents)
        return [row["rule_id"] for row in rows]

    async def mark_as_parents(self, parents: Sequence[int], rules: Sequence[int]) -> None:
        """Lock jobs and mark them as parents. ConcurrentChange when one has moved to another rule. Invalid when one was
        deleted since the request was checked: its child would wait for ever."""
        if parents:
            rows = await self._connection.fetch(self._sql["mark_as_parents"], self._tenant_id, parents)
            if {row["rule_id"] for row in rows} - {None, *rules}:
                raise ConcurrentChange
            await self._refuse_deleted(parents, {row["id"]: row["status"] for row in rows})

    async def _refuse_deleted(self, parents: Sequence[int], status_of: Mapping[int, str]) -> None:
        """A purge cancels a job in the transaction that notes the purge, and marking the job has waited for that."""
        gone = [job for job in parents if job not in status_of]
        cancelled = [job for job, status in status_of.items() if status == JobStatus.CANCELLED]
        if cancelled:
            rows = await self._connection.fetch(self._sql["purged_parents"], self._tenant_id, cancelled)
            gone += [row["job_id"] for row in rows]
        if gone:
            raise Invalid.field("depends_on", f"job {job_id(gone[0])} was deleted meanwhile")

    async def create(self, made: Mapping[int, JobSpec], ids: Sequence[int]) -> None:
        """Write the parents of new jobs. `ids`: of all jobs of the request, in its order."""
        children = [job for job, spec in made.items() if spec.parents]
        if not children:
            return
        await self._insert_parents({job: made[job] for job in children}, ids)
        await self._connection.execute(self._sql["begin_with_next_round"], children)
        await self._wait(children, made)

    async def change(self, job: int, spec: JobSpec, ids: Sequence[int], before: Sequence[object]) -> None:
        """Write the new parents of a job. A one-time job waits for exactly these. Rounds of a recurring job go on
        waiting for the parents that it keeps."""
        if list(spec.request.depends_on) == list(before):
            return
        if not isinstance(spec.schedule, Recurring) and await self._has_started(job):
            raise Conflict(f"job {job_id(job)} has begun: its dependencies can no longer be changed")
        kept = parents_of(spec, ids) if isinstance(spec.schedule, Recurring) else []
        times = [row[0] for row in await self._connection.fetch(self._sql["times_waiting_for_parents"], job)]
        await self._connection.execute(self._sql["delete_parents"], job, kept)
        await self._connection.execute(self._sql["set_depends"], job, bool(spec.parents))
        await self._insert_parents({job: spec}, ids)
        await self._connection.execute(self._sql["begin_with_next_round"], [job])
        await self._wait([job], {job: spec})
        await self._release([job] * len(times), times)
        await self.refuse_cycles([job])

    async def lock_all(self) -> None:
        await self._connection.execute(self._sql["lock_dependencies"], self._tenant_id)

    async def refuse_cycles(self, changed: Sequence[int]) -> None:
        """Invalid when a changed job depends on itself, through others. New jobs cannot: no job depends on them yet."""
        for job in changed:
            cycle = await self._find_cycle(job)
            if cycle:
                names = " → ".join(job_id(each) for each in cycle)
                raise Invalid.field("depends_on", f"these jobs would wait for each other: {names}")

    async def _find_cycle(self, job: int) -> list[int] | None:
        """Search upwards, one generation at a time, until there are no new parents, or the job itself is one."""
        child_of: dict[int, int] = {}
        generation = [job]
        while generation:
            rows = await self._connection.fetch(self._sql["parents_of_jobs"], generation)
            generation = []
            for child, parent in rows:
                if parent not in child_of:
                    child_of[parent] = child
                    generation.append(parent)
            if job in child_of:
                return _path(job, child_of)
        return None

    async def move_followers(self, job: int, old_rule: int, new_rule: int) -> None:
        await self._connection.execute(self._sql["move_followers"], job, old_rule, new_rule)

    async def _insert_parents(self, children: Mapping[int, JobSpec], ids: Sequence[int]) -> None:
        edges = [
            (child, parent, edge.needs, edge.condition)
            for child, spec in children.items()
            for parent, edge in zip(parents_of(spec, ids), spec.parents, strict=True)
        ]
        if edges:
            columns = [list(column) for column in zip(*edges, strict=True)]
            await self._connection.execute(self._sql["insert_parents"], self._tenant_id, *columns)

    async def _wait(self, children: Sequence[int], specs: Mapping[int, JobSpec]) -> None:
        once = [job for job in children if not isinstance(specs[job].schedule, Recurring)]
        if once:
            await self._connection.execute(self._sql["await_parents"], once)
            await self._connection.execute(self._sql["wait_for_parents"], once)
            await self._connection.execute(self._sql["count_ended"])
            rows = await self._connection.fetch(self._sql["due_times_of_one_time_jobs"], once)
            await self._release([row["id"] for row in rows], [row["scheduled_for"] for row in rows])

    async def _release(self, jobs: Sequence[int], times: Sequence[datetime]) -> None:
        await self._connection.execute(self._sql["release_waiting"], jobs, times)

    async def _has_started(self, job: int) -> bool:
        started: bool = await self._connection.fetchval(self._sql["has_begun"], self._tenant_id, job)
        return started


async def skip_decided(connection: Connection, children: Sequence[int]) -> None:
    """Skip the new executions of deferred jobs whose branch was not taken."""
    await connection.execute(queries("write_dependencies")["skip_decided"], children)


def existing_parents(children: Mapping[int, JobSpec], ids: Sequence[int], new: Collection[int]) -> list[int]:
    """The parents that the same request does not create."""
    return sorted({parent for spec in children.values() for parent in parents_of(spec, ids)}.difference(new))


def parents_within(specs: Sequence[JobSpec], ids: Sequence[int]) -> set[int]:
    """The jobs of a request that other jobs of it depend on."""
    return {ids[parent.place] for spec in specs for parent in spec.parents if parent.place is not None}


def parents_of(spec: JobSpec, ids: Sequence[int]) -> list[int]:
    return [ids[parent.place or 0] if parent.job is None else parent.job for parent in spec.parents]


def _path(job: int, child_of: Mapping[int, int]) -> list[int]:
    """The path from a job along those that depend on it, back to itself."""
    path = [job]
    while len(path) == 1 or path[-1] != job:
        path.append(child_of[path[-1]])
    return path
