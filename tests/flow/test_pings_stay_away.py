"""What runs elsewhere is expected here, and told of once when it stays away, whichever node notices."""

import asyncio
from datetime import timedelta

import asyncpg
import pytest

from tickwork.config import Settings
from tickwork.model.ping import PingRequest, PingStatus, PingView, Signal
from tickwork.model.stream_event import StreamEvent
from tickwork.node import Node
from tickwork.testing.clock import SettableClock

TENANT = 1
SECOND, MINUTE, HOUR, DAY = (
    timedelta(seconds=1),
    timedelta(minutes=1),
    timedelta(hours=1),
    timedelta(days=1),
)
HOURLY = PingRequest(schedule="0 * * * *", grace="10m")
SUCCESS, FAIL = Signal("success"), Signal("fail")


async def told(node: Node) -> list[StreamEvent]:
    """Its events of pings so far."""
    while await node.step("number events"):
        pass
    store = node.event_feed._store
    numbered = await store.events_of(TENANT, 0, await store.last_number(), 500)
    return [each.event for each in numbered if each.event.kind.startswith("ping.")]


async def kinds(node: Node) -> list[str]:
    return [event.kind for event in await told(node)]


async def expect(node: Node, name: str = "backup", request: PingRequest = HOURLY) -> str:
    """The token of a new ping."""
    made = await node.pings.set(TENANT, name, request)
    assert made.token
    return made.token


async def shown(node: Node) -> PingView:
    return await node.pings.get(TENANT, "backup")


async def test_a_ping_that_comes_in_time_is_not_told_of(clock: SettableClock, still_node: Node) -> None:
    token = await expect(still_node)
    for _ in range(3):
        await clock.advance(HOUR)
        assert await still_node.pings.hear_by_token(token, SUCCESS)
        await still_node.step("watch pings")
    assert await kinds(still_node) == []
    assert (await shown(still_node)).status is PingStatus.OK


async def test_a_ping_that_stays_away_is_told_of_when_its_grace_is_over(
    clock: SettableClock, still_node: Node
) -> None:
    await expect(still_node)
    await clock.advance(HOUR + 10 * MINUTE - SECOND)
    await still_node.step("watch pings")
    assert await kinds(still_node) == []
    await clock.advance(SECOND)
    await still_node.step("watch pings")
    (event,) = await told(still_node)
    assert (event.kind, event.detail["ping"]) == ("ping.missing", "backup")
    assert event.at - (await shown(still_node)).created_at == HOUR + 10 * MINUTE
    assert (await shown(still_node)).status is PingStatus.MISSING


async def test_is_told_of_once_for_each_due_time_whichever_nodes_look(
    clock: SettableClock, nodes: list[Node]
) -> None:
    await expect(nodes[0])
    for _ in range(3):
        await clock.advance(HOUR)
        await asyncio.gather(*(node.step("watch pings") for node in nodes * 5))
    await clock.advance(10 * MINUTE)
    await asyncio.gather(*(node.step("watch pings") for node in nodes * 5))
    assert await kinds(nodes[0]) == ["ping.missing"] * 3


async def test_what_was_due_while_the_cluster_was_down_is_told_of_at_once(
    clock: SettableClock, settings: Settings
) -> None:
    first = Node(settings)
    await first.open()
    await expect(first)
    await first.stop()
    await clock.advance(5 * HOUR + 30 * MINUTE)
    second = Node(settings)
    await second.open()
    await second.step("watch pings")
    (event,) = await told(second)
    assert (event.kind, event.detail["missed"]) == ("ping.missing", 5)
    await second.stop()


async def test_another_node_tells_of_it_if_the_one_that_noticed_dies_before_the_commit(
    clock: SettableClock, nodes: list[Node]
) -> None:
    await expect(nodes[0])
    await clock.advance(HOUR + 10 * MINUTE)
    with pytest.raises(RuntimeError, match="killed"):  # noqa: PT012 (the error ends the transaction)
        async with nodes[0]._database.transaction():
            await nodes[0].step("watch pings")
            await nodes[1].step("watch pings")  # passes over what the other one has locked
            assert await kinds(nodes[1]) == []
            raise RuntimeError("killed")
    await nodes[1].step("watch pings")
    await nodes[0].step("watch pings")
    assert await kinds(nodes[1]) == ["ping.missing"]


async def test_a_signal_and_a_look_at_the_same_time_agree(clock: SettableClock, nodes: list[Node]) -> None:
    """Whichever comes first: either it came in time, or it was missed and recovered."""
    tokens = [await expect(nodes[0], f"ping-{number}") for number in range(20)]
    await clock.advance(HOUR + 10 * MINUTE)
    await asyncio.gather(
        *(nodes[number % 3].pings.hear_by_token(token, SUCCESS) for number, token in enumerate(tokens)),
        *(node.step("watch pings") for node in nodes * 3),
    )
    events = [(event.detail["ping"], event.kind) for event in await told(nodes[0])]
    missing = [name for name, kind in events if kind == "ping.missing"]
    recovered = [name for name, kind in events if kind == "ping.recovered"]
    assert sorted(missing) == sorted(recovered)
    assert len(set(missing)) == len(missing)


async def test_late_failed_recovered_and_slow_are_told_of(clock: SettableClock, still_node: Node) -> None:
    token = await expect(still_node)
    for _ in range(6):  # what is usual
        await clock.advance(HOUR - MINUTE)
        await still_node.pings.hear_by_token(token, Signal("start"))
        await clock.advance(MINUTE)
        await still_node.pings.hear_by_token(token, SUCCESS)
    await clock.advance(HOUR + MINUTE)
    await still_node.step("watch pings")
    assert await kinds(still_node) == ["ping.late"]
    await still_node.pings.hear_by_token(token, Signal("start"))
    await clock.advance(3 * MINUTE)
    await still_node.step("watch pings")
    await still_node.pings.hear_by_token(token, Signal("fail", "disk full"))
    await clock.advance(HOUR)
    await still_node.pings.hear_by_token(token, SUCCESS)
    assert await kinds(still_node) == ["ping.late", "ping.slow", "ping.failed", "ping.recovered"]


async def test_the_history_has_what_became_of_each_run(clock: SettableClock, still_node: Node) -> None:
    token = await expect(still_node)
    await clock.advance(HOUR)
    await still_node.pings.hear_by_token(token, Signal("start"))
    await clock.advance(30 * SECOND)
    await still_node.pings.hear_by_token(token, Signal("success", "copied 3 files", 0))
    await clock.advance(HOUR)
    await still_node.pings.hear_by_token(token, Signal("fail", exit_code=2))
    await clock.advance(HOUR + 10 * MINUTE)
    await still_node.step("watch pings")
    page = await still_node.pings.history(TENANT, "backup", 2, None)
    rest = await still_node.pings.history(TENANT, "backup", 2, page.next_cursor)
    missing, failed, success = [*page.items, *rest.items]
    assert [missing.outcome, failed.outcome, success.outcome] == ["missing", "failed", "success"]
    assert (success.run_time, success.delay, success.log) == (30.0, 0.0, "copied 3 files")
    assert (failed.exit_code, failed.run_time, missing.missed, rest.next_cursor) == (2, None, 1, None)
    ping = await shown(still_node)
    assert [run.outcome for run in ping.recent_runs] == ["missing", "failed", "success"]
    assert (ping.statistics.runs, ping.statistics.success_share) == (3, 1 / 3)
    assert ping.statistics.typical_run_time == 30.0


async def test_a_run_that_nobody_expected_has_no_delay(clock: SettableClock, still_node: Node) -> None:
    await still_node.pings.hear_by_token(await expect(still_node), SUCCESS)
    await clock.advance(10 * MINUTE)
    await still_node.pings.hear(TENANT, "backup", SUCCESS)
    page = await still_node.pings.history(TENANT, "backup", 10, None)
    assert [(run.due_at, run.delay) for run in page.items] == [(None, None)] * 2


async def test_setting_a_ping_again_does_not_change_what_is_expected(
    clock: SettableClock, still_node: Node
) -> None:
    await expect(still_node, request=PingRequest(schedule="every 1h", grace="10m"))
    before = await shown(still_node)
    await clock.advance(50 * MINUTE)
    again = await still_node.pings.set(
        TENANT, "backup", PingRequest(schedule="every 60m", grace=600, description="of the database")
    )
    assert again.token is None
    assert (again.view.expected_at, again.view.description) == (before.expected_at, "of the database")
    other = await still_node.pings.set(TENANT, "backup", PingRequest(schedule="every 2h", grace="10m"))
    assert other.view.expected_at - before.expected_at == HOUR + 50 * MINUTE


async def test_old_runs_are_deleted_with_the_history(
    clock: SettableClock, still_node: Node, connection: asyncpg.Connection
) -> None:
    token = await expect(still_node)
    await still_node.pings.hear_by_token(token, SUCCESS)
    await clock.advance(29 * DAY)
    await still_node.pings.hear_by_token(token, SUCCESS)
    await clock.advance(2 * DAY)
    await still_node.step("delete old ping runs")
    assert len((await still_node.pings.history(TENANT, "backup", 10, None)).items) == 1
    await still_node.pings.delete(TENANT, "backup")
    assert await connection.fetchval("SELECT count(*) FROM tickwork.ping_run") == 0


async def test_a_ping_keeps_a_bounded_number_of_runs_and_fewer_logs(
    clock: SettableClock, still_node: Node, connection: asyncpg.Connection
) -> None:
    token = await expect(still_node)
    await still_node.pings.hear_by_token(token, Signal("success", "old"))
    await connection.execute("UPDATE tickwork.ping_run SET number = 10000 - 200 + 1")
    await connection.execute("UPDATE tickwork.ping SET last_run = 10000")
    await connection.execute(
        "INSERT INTO tickwork.ping_run (ping_id, number, outcome, ended_at, missed) "
        "SELECT ping_id, 1, outcome, ended_at, 0 FROM tickwork.ping_run"
    )
    await still_node.pings.hear_by_token(token, Signal("success", "new"))
    kept = await connection.fetch("SELECT number, log FROM tickwork.ping_run ORDER BY number")
    assert [tuple(row) for row in kept] == [(9801, None), (10001, "new")]


async def test_a_ping_that_cannot_be_read_does_not_stop_the_others(
    clock: SettableClock, still_node: Node, connection: asyncpg.Connection
) -> None:
    await expect(still_node, "broken")
    await expect(still_node, "backup")
    await connection.execute("UPDATE tickwork.ping SET timing = '{' WHERE name = 'broken'")
    await clock.advance(HOUR + 10 * MINUTE)
    await still_node.step("watch pings")
    assert [event.detail["ping"] for event in await told(still_node)] == ["backup"]
    await still_node.step("watch pings")  # not again and again
    check_at = await connection.fetchval("SELECT check_at FROM tickwork.ping WHERE name = 'broken'")
    assert check_at > await still_node._database.now()
