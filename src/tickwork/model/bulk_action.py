"""Actions on many jobs or executions, one chunk per request: what they are called, and what they answer."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, NamedTuple, TypeVar

import msgspec

from tickwork.model.errors import Unavailable

JobAction = Literal["run", "pause", "resume", "cancel", "delete", "tag", "untag"]
ExecutionAction = Literal["retry", "cancel"]
LARGEST_CHUNK = 500
_AT_ONCE = 4  # fewer than the connections of a node, so that other requests go on

Subject = TypeVar("Subject")


class BulkCount(msgspec.Struct, frozen=True):
    """How many a bulk action would act on. Not exact: at least so many."""

    matched: int
    exact: bool


class JobFailure(msgspec.Struct, frozen=True):
    """A job that the action did not work on, and why."""

    job_id: str
    title: str
    detail: str


class ExecutionFailure(msgspec.Struct, frozen=True):
    """An execution that the action did not work on, and why."""

    execution_id: str
    title: str
    detail: str


class BulkJobsResult(msgspec.Struct, frozen=True):
    """What one request did. With `next_cursor` there is more: send the same request with it."""

    done: int
    failed: list[JobFailure]
    next_cursor: str | None = None


class BulkExecutionsResult(msgspec.Struct, frozen=True):
    """What one request did. With `next_cursor` there is more: send the same request with it."""

    done: int
    failed: list[ExecutionFailure]
    next_cursor: str | None = None


class BulkChunk(NamedTuple):
    done: int
    failed: list[tuple[str, Exception]]  # by id
    next_cursor: str | None = None


async def act_on_each(
    subjects: Sequence[Subject],
    name: Callable[[Subject], str],
    act: Callable[[Subject], Awaitable[object]],
    next_cursor: str | None = None,
) -> BulkChunk:
    """Act on each, a few at a time. What goes wrong with one is recorded and does not stop the others, except that
    without a database nothing can be done: then the request fails, and can be repeated."""
    failed: list[tuple[str, Exception]] = []
    waiting = iter(subjects)

    async def work() -> None:
        for subject in waiting:
            try:
                await act(subject)
            except Unavailable:
                raise
            except Exception as error:  # noqa: BLE001 (one bad row must not stop the others; the API logs it)
                failed.append((name(subject), error))

    await asyncio.gather(*(work() for _ in range(_AT_ONCE)))
    return BulkChunk(len(subjects) - len(failed), failed, next_cursor)
