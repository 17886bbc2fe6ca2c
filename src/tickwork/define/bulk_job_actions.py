"""Runs, pauses, resumes, cancels and tags many jobs: those of a filter, chunk by chunk, or those that are named."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import NamedTuple, Protocol

from tickwork.define.jobs import Jobs
from tickwork.define.run_now_and_backfills import Runs
from tickwork.model.access import Author, Requester
from tickwork.model.bulk_action import BulkChunk, BulkCount, JobAction, act_on_each
from tickwork.model.errors import Stale
from tickwork.model.job import RunningChoice
from tickwork.model.job_filter import JobFilter
from tickwork.model.public_ids import job_id, job_key, parse_job_id

_MAX_TRIES = 10  # of a change of tags that conflicts with other changes


class BulkJobChange(NamedTuple):
    action: JobAction
    tags: Sequence[str] = ()
    request_key: str | None = None  # the Idempotency-Key of the request: with it, a job is run once
    author: Author | None = None
    running: RunningChoice = "leave"  # of jobs that are cancelled


class StoredAnswer(Protocol):
    @property
    def replay(self) -> object | None: ...

    async def save(self, status: int, headers: dict[str, str], body: bytes) -> None: ...


class AnswerStore(Protocol):
    def begin(
        self, tenant_id: int, key: str, fingerprint: bytes
    ) -> AbstractAsyncContextManager[StoredAnswer]: ...


class BulkJobs:
    def __init__(self, jobs: Jobs, runs: Runs, answers: AnswerStore) -> None:
        self._jobs = jobs
        self._runs = runs
        self._answers = answers

    async def count_matching(self, tenant_id: int, wanted: JobFilter) -> BulkCount:
        count = (await self._jobs.list(tenant_id, wanted, 1, count="exact")).count
        return BulkCount(count.value, count.kind == "exact") if count else BulkCount(0, exact=True)

    async def count_named(self, tenant_id: int, names: Sequence[str]) -> BulkCount:
        found = await act_on_each(names, str, partial(self._existing, tenant_id))
        return BulkCount(found.done, exact=True)

    async def change_matching(
        self, tenant_id: int, change: BulkJobChange, wanted: JobFilter, limit: int, cursor: str | None
    ) -> BulkChunk:
        """Change one chunk. The order is that of the list, by the age of jobs, so what an action changes in a job does
        not change where the next chunk begins."""
        page = await self._jobs.list(tenant_id, wanted, limit, cursor)
        names = [job.id for job in page.items]
        return await act_on_each(names, str, partial(self._change, tenant_id, change), page.next_cursor)

    async def change_named(self, tenant_id: int, change: BulkJobChange, names: Sequence[str]) -> BulkChunk:
        """Change the jobs with these ids, or key:NAME."""
        return await act_on_each(names, str, partial(self._change, tenant_id, change))

    async def _existing(self, tenant_id: int, name: str) -> int:
        job = await self._number(tenant_id, name)
        await self._jobs.get(tenant_id, job)
        return job

    async def _number(self, tenant_id: int, name: str) -> int:
        key = job_key(name)
        return parse_job_id(name) if key is None else await self._jobs.find(tenant_id, key)

    async def _change(self, tenant_id: int, change: BulkJobChange, name: str) -> None:
        job = await self._number(tenant_id, name)
        match change.action:
            case "run":
                await self._run(tenant_id, job, change.request_key)
            case "pause":
                await self._jobs.pause(tenant_id, job, change.author)
            case "resume":
                await self._jobs.resume(tenant_id, job, change.author)
            case "cancel" | "delete":
                await self._jobs.cancel(tenant_id, job, author=change.author, running=change.running)
            case "tag":
                await self._set_tags(tenant_id, job, change.author, add=change.tags)
            case "untag":
                await self._set_tags(tenant_id, job, change.author, remove=change.tags)

    async def _run(self, tenant_id: int, job: int, request_key: str | None) -> None:
        """With a key, the run commits together with a note about it, so that a repeated request runs the job once."""
        if request_key is None:
            await self._runs.run(tenant_id, job)
            return
        async with self._answers.begin(tenant_id, f"{request_key} {job_id(job)}", b"run") as answer:
            if answer.replay is None:
                await self._runs.run(tenant_id, job)
                await answer.save(200, {}, b"")

    async def _set_tags(
        self,
        tenant_id: int,
        job: int,
        author: Author | None,
        add: Sequence[str] = (),
        remove: Sequence[str] = (),
    ) -> None:
        for _ in range(_MAX_TRIES):
            view = await self._jobs.get(tenant_id, job)
            tags = [tag for tag in dict.fromkeys([*view.tags, *add]) if tag not in remove]
            if tags == view.tags:
                return
            try:
                await self._jobs.patch(tenant_id, job, {"tags": tags}, view.version, Requester(author))
            except Stale:
                continue
            return
        raise Stale(f"other requests keep changing job {job_id(job)}: try again")
