"""Jobs of concurrent requests are created together, and an error in one does not affect the others."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tickwork.define.group_commit import GroupCommit
from tickwork.model.access import NOBODY, Requester
from tickwork.model.errors import Conflict, Unavailable
from tickwork.model.job import JobRequest

_TENANT = 1
Ask = Callable[..., "asyncio.Task[str]"]


class Store:
    """Creates a batch whenever the test lets it. A job is answered by its name, unless the name is `bad`."""

    def __init__(self) -> None:
        self.batches: list[tuple[int, list[str]]] = []
        self.may_write = asyncio.Event()
        self.may_write.set()
        self.failure: Exception | None = None

    async def create(
        self, tenant_id: int, requests: Sequence[JobRequest], _requesters: Sequence[Requester]
    ) -> Any:
        names = [request.name for request in requests]
        self.batches.append((tenant_id, names))
        await self.may_write.wait()
        if self.failure:
            raise self.failure
        if "bad" in names:
            raise Conflict("bad")
        return names


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def ask(store: Store) -> Ask:
    group_commit = GroupCommit(store.create)

    def ask(name: str, tenant_id: int = _TENANT) -> "asyncio.Task[Any]":
        return asyncio.create_task(group_commit.create(tenant_id, JobRequest(name=name, task="work"), NOBODY))

    return ask


async def _start_writing(store: Store, ask: Ask) -> "asyncio.Task[Any]":
    store.may_write.clear()
    first = ask("first")
    while not store.batches:  # noqa: ASYNC110 (the write starts in the next iterations of the event loop)
        await asyncio.sleep(0)
    return first


async def test_alone_a_job_is_created_at_once(store: Store, ask: Ask) -> None:
    assert await ask("only") == "only"
    assert store.batches == [(_TENANT, ["only"])]


async def test_jobs_that_arrive_during_a_write_are_written_together(store: Store, ask: Ask) -> None:
    first = await _start_writing(store, ask)
    others = [ask(name) for name in "abc"]
    await asyncio.sleep(0)
    store.may_write.set()
    assert await asyncio.gather(first, *others) == ["first", *"abc"]
    assert store.batches == [(_TENANT, ["first"]), (_TENANT, [*"abc"])]


async def test_a_batch_has_jobs_of_one_tenant(store: Store, ask: Ask) -> None:
    first = await _start_writing(store, ask)
    others = [ask("a", 1), ask("b", 2), ask("c", 1)]
    await asyncio.sleep(0)
    store.may_write.set()
    await asyncio.gather(first, *others)
    assert store.batches[1:] == [(1, ["a", "c"]), (2, ["b"])]


async def test_the_rest_of_a_large_batch_waits_behind_other_tenants(store: Store, ask: Ask) -> None:
    first = await _start_writing(store, ask)
    others = [ask(f"job {number}", 1) for number in range(250)] + [ask("small", 2)]
    await asyncio.sleep(0)
    store.may_write.set()
    await asyncio.gather(first, *others)
    assert [(tenant, len(names)) for tenant, names in store.batches[1:]] == [(1, 200), (2, 1), (1, 50)]


async def test_an_invalid_job_does_not_affect_the_others(store: Store, ask: Ask) -> None:
    first = await _start_writing(store, ask)
    others = [ask(name) for name in ("a", "bad", "c")]
    await asyncio.sleep(0)
    store.may_write.set()
    await first
    a, bad, c = await asyncio.gather(*others, return_exceptions=True)
    assert (a, c) == ("a", "c")
    assert isinstance(bad, Conflict)


async def test_when_the_store_fails_every_caller_gets_the_error(store: Store, ask: Ask) -> None:
    store.failure = Unavailable("away")
    for answer in await asyncio.gather(ask("a"), ask("b"), return_exceptions=True):
        assert isinstance(answer, Unavailable)
    store.failure = None
    assert await ask("c") == "c"


async def test_a_job_whose_request_was_cancelled_is_not_created(store: Store, ask: Ask) -> None:
    first = await _start_writing(store, ask)
    gone, stays = ask("gone"), ask("stays")
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.sleep(0)
    store.may_write.set()
    assert await asyncio.gather(first, stays) == ["first", "stays"]
    assert store.batches[1:] == [(_TENANT, ["stays"])]
