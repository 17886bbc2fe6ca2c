"""A job written in the user's own transaction appears if and only if that commits, and then once."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, NamedTuple
from uuid import UUID

import asyncpg
import msgspec
import pytest

from support.database_libraries import LIBRARIES, Library
from support.end_sessions import end_sessions
from support.waiting import eventually
from tickwork import App, AsyncClient
from tickwork.cli.server_command import listen, serving_http, url_of
from tickwork.model.errors import Invalid, NotAllowed, Unavailable
from tickwork.node import Node
from tickwork.outbox import create_jobs_from_outbox as relay_module
from tickwork.outbox import outbox_tables as statement
from tickwork.outbox.create_jobs_from_outbox import Relay, connected
from tickwork.outbox.database_driver import async_driver_of, driver_of
from tickwork.outbox.outbox_tables import install
from tickwork.testing.scripted_worker import ScriptedWorker

app = App()


@app.task(name="work")
def work(number: int = 0) -> None: ...


class Address(NamedTuple):
    url: str
    key: str


class Crash(BaseException):
    """The relay's process dies here."""


class Place:
    """The user's database, a server, and the relays in between."""

    def __init__(
        self, node: Node, database_url: str, own: asyncpg.Connection, client: AsyncClient, address: Address
    ) -> None:
        self.node = node
        self.database_url = database_url
        self.own = own
        self.client = client
        self.address = address

    async def write(self, *requests: dict[str, Any]) -> list[str]:
        insert = "INSERT INTO tickwork_outbox.job (request) VALUES ($1) RETURNING id::text"
        async with self.own.transaction():
            return [
                await self.own.fetchval(insert, msgspec.json.encode({"task": "work", **each}).decode())
                for each in requests
            ]

    async def relay(self, client: Any = None) -> None:
        """One relay, until it has nothing left to do."""
        async with connected(self.database_url) as connection:
            await Relay(self.database_url, client or self.client).forward(connection)

    async def relay_that_dies(self, at: str, *, requests: int = 1) -> None:
        with pytest.raises((Crash, asyncpg.InterfaceError)):
            async with connected(self.database_url) as connection:
                await Relay(self.database_url, Dying(self.client, connection, at, requests)).forward(  # type: ignore[arg-type]
                    connection
                )

    async def jobs(self) -> list[tuple[str | None, str]]:
        page = await self.client.list_jobs(sort="created_at", limit=500)
        return [(job.key, job.status) for job in page.items]

    async def left(self) -> int:
        return await self.own.fetchval("SELECT count(*) FROM tickwork_outbox.job")

    async def refused(self) -> dict[str, str]:
        query = (
            "SELECT id::text, error FROM tickwork_outbox.job WHERE refused_at IS NOT NULL ORDER BY position"
        )
        return {row["id"]: row["error"] for row in await self.own.fetch(query)}

    async def age(self) -> None:
        """A day passes while no relay runs: the server forgets what it was asked."""
        await self.own.execute("UPDATE tickwork_outbox.batch SET begun_at = begun_at - interval '1 day'")
        await self.own.execute("DELETE FROM tickwork.idempotency")


class Dying:
    """A client in a relay that dies at its nth request: before it is sent, once it is accepted, or then with the
    database gone, too."""

    def __init__(self, client: AsyncClient, connection: asyncpg.Connection, at: str, requests: int) -> None:
        self._client = client
        self._connection = connection
        self._at = at
        self._left = requests

    async def create_job_batch(self, body: bytes, *, idempotency_key: str) -> Any:
        self._left -= 1
        if not self._left and self._at == "before it is sent":
            raise Crash
        try:
            return await self._client.create_job_batch(body, idempotency_key=idempotency_key)
        finally:
            if not self._left and self._at == "after it is accepted":
                raise Crash
            if not self._left:
                self._connection.terminate()


CRASHES = ("before it is sent", "after it is accepted", "when it is to be forgotten")


@pytest.fixture
async def place(still_node: Node, connection: asyncpg.Connection, database_url: str) -> AsyncIterator[Place]:
    await install(connection)
    await ScriptedWorker.connect(still_node, tasks=["work"])
    with listen("127.0.0.1", 0) as listener:
        address = Address(url_of(listener), still_node.first_key or "")
        async with serving_http(still_node, listener), AsyncClient(*address, retries=0) as client:
            yield Place(still_node, database_url, connection, client, address)


@pytest.fixture(params=LIBRARIES.values(), ids=list(LIBRARIES))
def library(request: pytest.FixtureRequest) -> Library:
    return request.param


async def test_appears_when_the_transaction_commits_and_not_when_it_rolls_back(
    place: Place, library: Library
) -> None:
    async with library.open(place.database_url) as theirs:
        with pytest.raises(ZeroDivisionError):
            await _in_transaction(library, theirs, fail=True)
        await place.relay()
        assert await place.jobs() == []
        row = await _in_transaction(library, theirs, fail=False)
    await place.relay()
    assert await place.jobs() == [(f"outbox:{row}", "active")]
    assert await place.left() == 0


async def _in_transaction(library: Library, theirs: Any, *, fail: bool) -> str:
    transaction = _transaction(library, theirs)
    if hasattr(transaction, "__aenter__"):
        async with transaction:
            row = await getattr(work, library.submit)(theirs, number=1)
            _fail_if(fail)
            return row
    with transaction:
        row = getattr(work, library.submit)(theirs, number=1)
        _fail_if(fail)
        return row


def _transaction(library: Library, theirs: Any) -> Any:
    return (async_driver_of if library.submit.endswith("async") else driver_of)(theirs).transaction()


def _fail_if(fail: bool) -> None:
    if fail:
        raise ZeroDivisionError


async def test_cannot_be_seen_before_the_commit(place: Place) -> None:
    async with connected(place.database_url) as theirs, theirs.transaction():
        await work.submit_in_async(theirs)
        await place.relay()
        assert await place.jobs() == []
    await place.relay()
    assert len(await place.jobs()) == 1


async def test_arguments_are_checked_before_anything_is_written(place: Place) -> None:
    with pytest.raises(Invalid, match=r"payload\.number"):
        await work.submit_in_async(place.own, number="seven")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        await work.submit_in_async(place.own, nummer=7)  # type: ignore[call-arg]
    assert await place.left() == 0


async def test_options_and_schedules_are_those_of_the_task(place: Place) -> None:
    await work.on("0 9 * * MON", timezone="Europe/Paris", key="weekly").submit_in_async(place.own, number=3)
    await place.relay()
    (job,) = (await place.client.list_jobs()).items
    assert (job.key, job.payload, job.schedule["timezone"]) == ("weekly", {"number": 3}, "Europe/Paris")


def several(number: int) -> list[dict[str, Any]]:
    return [
        {},
        {"key": f"mine-{number}"},
        {"key": f"theirs-{number}", "if_exists": "replace", "payload": {"number": 1}},
        {"payload": {"number": 2}},
    ]


@pytest.mark.parametrize("at", CRASHES)
async def test_is_created_once_wherever_the_relay_dies(place: Place, at: str) -> None:
    await place.write(*several(1))
    await place.relay_that_dies(at)
    await place.relay_that_dies(at)
    await place.relay()
    assert len(await place.jobs()) == 4
    assert (await place.left(), await place.refused()) == (0, {})
    assert {job.version for job in (await place.client.list_jobs()).items} == {1}


@pytest.mark.parametrize("at", CRASHES)
async def test_is_created_once_wherever_the_relay_dies_while_it_looks_for_a_job_at_fault(
    place: Place, at: str
) -> None:
    at_fault = []
    for requests in range(1, 8):  # as many as that takes
        *_, bad = await place.write(*several(requests), {"task": "wrok"})
        await place.relay_that_dies(at, requests=requests)
        await place.relay()
        at_fault.append(bad)
        assert len(await place.jobs()) == 4 * requests
    assert list(await place.refused()) == at_fault
    assert {job.version for job in (await place.client.list_jobs()).items} == {1}


async def test_one_that_was_cancelled_meanwhile_does_not_come_back(place: Place) -> None:
    (row,) = await place.write({})
    await place.relay_that_dies("after it is accepted")
    await _cancel_all(place)
    await place.relay()
    assert await place.jobs() == [(f"outbox:{row}", "cancelled")]


async def test_a_relay_that_comes_back_after_days_creates_nothing_twice(place: Place) -> None:
    rows = await place.write({}, {}, {"key": "mine", "if_exists": "replace"})
    await place.relay_that_dies("after it is accepted")
    first, *_ = (await place.client.list_jobs(sort="created_at")).items
    await place.client.cancel_job(first.id)
    await place.age()
    await place.relay()
    assert [status for _, status in await place.jobs()] == ["cancelled", "active", "active"]
    assert list(await place.refused()) == [rows[2]]
    assert "the answer is not known" in (await place.refused())[rows[2]]
    assert await place.left() == 1


async def test_a_relay_that_died_days_ago_before_it_sent_anything_loses_nothing(place: Place) -> None:
    await place.write({}, {})
    await place.relay_that_dies("before it is sent")
    await place.age()
    await place.relay()
    assert len(await place.jobs()) == 2
    assert await place.left() == 0


async def test_what_is_refused_is_set_aside_and_in_nobodys_way(place: Place) -> None:
    rows = await place.write({}, {"task": "wrok"}, {}, {"priority": "urgent"}, {})
    await place.relay()
    assert len(await place.jobs()) == 3
    refused = await place.refused()
    assert refused[rows[1]] == "task: no worker has offered a task named 'wrok' (did you mean 'work'?)"
    assert refused[rows[3]].startswith("priority: ")
    assert await place.left() == 2


async def test_a_key_that_is_taken_is_refused_unless_the_job_says_otherwise(place: Place) -> None:
    await place.client.create_job(task="work", key="taken")
    rows = await place.write({"key": "taken"}, {"key": "taken", "if_exists": "keep"})
    await place.relay()
    assert list(await place.refused()) == [rows[0]]
    assert await place.left() == 1


async def test_jobs_of_one_key_arrive_in_the_order_in_which_they_were_written(place: Place) -> None:
    versions = [{"key": "k", "if_exists": "replace", "payload": {"number": each}} for each in range(6)]
    await place.write(*versions)
    await asyncio.gather(*(place.relay() for _ in range(3)))
    await place.relay()
    (job,) = (await place.client.list_jobs()).items
    assert (job.payload, await place.left()) == ({"number": 5}, 0)


async def test_several_relays_share_the_work(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay_module, "_LARGEST_BATCH", 7)
    await place.write(*[{}] * 100)
    await asyncio.gather(*(place.relay() for _ in range(4)))
    keys = [key for key, _ in await place.jobs()]
    assert len(keys) == len(set(keys)) == 100


async def test_nothing_is_lost_while_the_server_is_away(place: Place) -> None:
    await place.write({}, {"key": "mine"})
    async with AsyncClient("http://127.0.0.1:9", "tw_none", retries=0) as nobody:
        with pytest.raises(Unavailable):
            await place.relay(nobody)
    await place.relay()
    assert len(await place.jobs()) == 2


class Frozen:
    async def create_job_batch(self, *_: object, **__: object) -> None:
        await asyncio.Event().wait()


async def test_what_a_frozen_relay_holds_is_sent_by_another(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay_module, "_IDLE_TIMEOUT", "500ms")
    await place.write({}, {"key": "mine"})
    frozen = asyncio.create_task(place.relay(Frozen()))
    await eventually(lambda: _is_held(place), within=10, what="the frozen one to hold it")
    running = asyncio.create_task(Relay(place.database_url, place.client).run())
    await eventually(lambda: _as_many(place, 2), within=10, what="the jobs")
    running.cancel()
    frozen.cancel()


async def _is_held(place: Place) -> bool:
    async with place.own.transaction():
        free = await place.own.fetch("SELECT FROM tickwork_outbox.batch FOR UPDATE SKIP LOCKED")
        return not free and await place.own.fetchval("SELECT count(*) FROM tickwork_outbox.batch") == 1


async def test_a_key_that_may_not_create_jobs_ends_the_relay_and_loses_nothing(place: Place) -> None:
    await place.write({})
    async with AsyncClient(place.address.url, "tw_wrong", retries=0) as stranger:
        with pytest.raises(NotAllowed):
            await Relay(place.database_url, stranger).run()
    await place.relay()
    assert len(await place.jobs()) == 1


async def test_hears_of_a_commit_at_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay_module, "_POLL", 3600.0)
    running = asyncio.create_task(Relay(place.database_url, place.client).run())
    listening = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' OR query LIKE '%batch%'"
    await eventually(lambda: place.own.fetchval(listening), within=10, what="the relay to listen")
    for number in range(1, 4):
        await place.write({})
        await eventually(lambda: _as_many(place, number), within=10, what="the job")  # noqa: B023
    running.cancel()


async def test_goes_on_after_its_connection_was_lost(place: Place) -> None:
    running = asyncio.create_task(Relay(place.database_url, place.client).run())
    for number in range(1, 4):
        await place.write({})
        await eventually(lambda: _as_many(place, number), within=10, what="the job")  # noqa: B023
        await end_sessions(place.own, "application_name = 'tickwork outbox' AND datname = current_database()")
    running.cancel()


async def test_what_was_set_aside_can_be_sent_again_or_dropped(place: Place) -> None:
    first, second = await place.write({"task": "later"}, {"task": "never"})
    await place.relay()
    await ScriptedWorker.connect(place.node, tasks=["later"])
    assert await place.own.fetchval(statement.RETRY, [UUID(first)]) == 1
    assert await place.own.fetchval(statement.DISCARD, [UUID(second), UUID(first)]) == 1
    await place.relay()
    assert (await place.jobs(), await place.left()) == ([(f"outbox:{first}", "active")], 0)


async def test_only_an_object_can_be_a_request(place: Place) -> None:
    with pytest.raises(asyncpg.CheckViolationError):
        await place.own.execute("INSERT INTO tickwork_outbox.job (request) VALUES ('[]')")


async def _as_many(place: Place, number: int) -> bool:
    return len(await place.jobs()) == number


async def _cancel_all(place: Place) -> None:
    for job in (await place.client.list_jobs()).items:
        await place.client.cancel_job(job.id)
