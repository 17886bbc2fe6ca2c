"""The channels that are to hear of a fact are told of it once, with others of the same cause."""

from datetime import timedelta
from itertools import pairwise

import asyncpg
import pytest

from support.told_channel import (
    AWAY,
    BROKEN,
    GATHERING,
    HOUR,
    MINUTE,
    ONCE,
    SECOND,
    TENANT,
    ToldChannels,
    make_channel,
    message_of,
)
from tickwork.model.job import JobRequest
from tickwork.model.notification_rule import NotificationRuleRequest
from tickwork.model.notification_view import NotificationFilter
from tickwork.model.worker_protocol import Failure
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

FAILED = [{"on": ["failed", "recovered"], "to": ["ops"]}]
OTHER = Failure("KeyError", "no such customer", "Traceback …")


@pytest.fixture
async def told(clock: SettableClock, still_node: Node, worker: ScriptedWorker) -> ToldChannels:
    return await ToldChannels.of(still_node, clock, worker)


async def set_rule(node: Node, name: str = "all", **rule: object) -> None:
    request = {"on": ["failed"], "to": ["ops"], **rule}
    await node.notifications.rules.set(TENANT, name, NotificationRuleRequest(**request))  # type: ignore[arg-type]


async def statuses(node: Node) -> list[str]:
    page = await node.notifications.log.list(TENANT, NotificationFilter(), 100, None)
    return [str(each.status) for each in reversed(page.items)]


async def test_a_job_that_fails_is_told_to_the_channel_that_it_names(
    told: ToldChannels, connection: asyncpg.Connection
) -> None:
    channel = await make_channel(connection)
    job = await told.create(retry=ONCE, notify=FAILED, name="report", key="weekly", tags=["billing"])
    await told.run(BROKEN)
    (message,) = await told.messages()
    (item,) = message.items
    assert (message.tenant_id, message.channel_id, message.incident) == (TENANT, channel, None)
    assert (item.kind, item.severity, item.count) == ("execution.failed", "error", 1)
    assert item.title == "report (work) failed: ValueError: row 17 of 99 is broken"
    assert (item.job.id, item.job.key, item.job.tags, item.job.queue) == (
        job,
        "weekly",
        ["billing"],
        "default",
    )
    assert (item.execution.error_type, item.execution.error_message) == (
        "ValueError",
        "row 17 of 99 is broken",
    )
    assert item.path == f"/executions/{item.execution.id}"
    assert await statuses(told.node) == ["sent"]


async def test_nobody_is_told_of_a_job_that_names_no_channel(
    told: ToldChannels, connection: asyncpg.Connection
) -> None:
    await make_channel(connection)
    await told.create(retry=ONCE)
    await told.run(BROKEN)
    assert await told.messages() == []
    assert await statuses(told.node) == []


async def test_a_fact_is_told_once_to_a_channel_that_several_rules_name(
    told: ToldChannels, connection: asyncpg.Connection
) -> None:
    await make_channel(connection)
    await make_channel(connection, "team")
    await set_rule(told.node, "tenant")
    await set_rule(told.node, "tag", tag="billing", to=["ops", "team"])
    await set_rule(told.node, "queue", queue="default")
    await told.create(retry=ONCE, notify=FAILED, tags=["billing"])
    await told.run(BROKEN)
    messages = await told.messages()
    assert [[item.count for item in message.items] for message in messages] == [[1], [1]]
    assert len({message.channel_id for message in messages}) == 2


@pytest.mark.parametrize(
    ("scope", "job"), [({"tag": "billing"}, {"tags": ["billing"]}), ({"queue": "mail"}, {"queue": "mail"})]
)
async def test_a_rule_of_a_tag_or_queue_tells_of_its_jobs_only(
    told: ToldChannels, connection: asyncpg.Connection, scope: dict[str, str], job: dict[str, object]
) -> None:
    await make_channel(connection)
    await set_rule(told.node, **scope)
    inside = await told.create(retry=ONCE, **job)
    await told.create(retry=ONCE)
    await told.run(BROKEN)
    (item,) = await told.items()
    assert (item.job.id, item.count) == (inside, 1)


async def test_a_job_silences_what_rules_would_tell_of_it_but_not_what_it_says_itself(
    told: ToldChannels, connection: asyncpg.Connection
) -> None:
    await make_channel(connection)
    mine = await make_channel(connection, "mine")
    await set_rule(told.node)
    silent = {"on": ["failed"], "to": []}
    await told.create(retry=ONCE, notify=[silent])
    await told.create(retry=ONCE, notify=[silent, {"on": ["failed"], "to": ["mine"]}])
    await told.run(BROKEN)
    (message,) = await told.messages()
    assert (message.channel_id, [item.count for item in message.items]) == (mine, [1])


async def test_another_tenants_rules_and_channels_hear_nothing(
    told: ToldChannels, connection: asyncpg.Connection
) -> None:
    other = await connection.fetchval(
        "INSERT INTO tickwork.tenant (name, signing_secret) VALUES ('other', '') RETURNING id"
    )
    await make_channel(connection, tenant_id=other)
    request = NotificationRuleRequest(on=["failed"], to=["ops"])
    await told.node.notifications.rules.set(other, "all", request)
    await told.create(retry=ONCE)
    await told.run(BROKEN)
    assert await told.messages() == []


# Gathering


async def test_failures_of_one_cause_are_one_item_with_the_first_the_last_and_their_number(
    told: ToldChannels, connection: asyncpg.Connection
) -> None:
    await make_channel(connection)
    await set_rule(told.node)
    jobs = [await told.create(retry=ONCE) for _ in range(5)]
    await told.run(BROKEN)
    (item,) = await told.items()
    assert (item.count, item.job.id, item.last_job.id) == (5, jobs[0], jobs[-1])
    assert item.last_execution.id.startswith("e")
    assert item.last_at >= item.at


async def test_several_causes_that_are_due_together_are_one_message(
    told: ToldChannels, connection: asyncpg.Connection
) -> None:
    await make_channel(connection)
    await set_rule(told.node)
    for failure in (BROKEN, OTHER):
        await told.create(retry=ONCE)
        await told.run(failure)
    (message,) = await told.messages()
    assert [item.execution.error_type for item in message.items] == ["ValueError", "KeyError"]


async def test_what_goes_on_is_told_once_in_a_window_that_grows_and_anew_after_a_quiet_one(
    told: ToldChannels, connection: asyncpg.Connection
) -> None:
    await make_channel(connection)
    await told.create(schedule="every 1m", retry=ONCE, notify=FAILED)
    told_at = []
    for minute in range(1, 40):
        await told.later(MINUTE)
        await told.run(BROKEN)
        counts = [item.count for item in await told.items(after=timedelta(0))]
        told_at += [(minute, *counts)] if counts else []
    # The first after its gathering, then at the ends of windows of 5, 10 and 20 minutes.
    minutes = [minute for minute, _ in told_at]
    assert minutes[0] == 2
    assert [later - sooner for sooner, later in pairwise(minutes)] == [5, 10, 20]
    assert sum(count for _, count in told_at) == minutes[-1]

    await told.node.jobs.pause(TENANT, 1)
    assert len(await told.items(after=HOUR)) == 1
    assert await told.items(after=HOUR) == []
    await told.node.jobs.resume(TENANT, 1)
    await told.later(MINUTE)
    await told.run(BROKEN)
    assert [item.count for item in await told.items()] == [1]  # after its gathering, not after a window


async def test_a_window_of_zero_tells_of_each_fact_by_itself(
    told: ToldChannels, connection: asyncpg.Connection
) -> None:
    await make_channel(connection, window=0)
    await set_rule(told.node)
    for _ in range(4):
        await told.create(retry=ONCE)
    await told.run(BROKEN)
    items = await told.items(after=timedelta(0))
    assert [item.count for item in items] == [1, 1, 1, 1]
    assert len({item.execution.id for item in items}) == 4


async def test_more_causes_than_a_message_shows_are_counted_in_its_last_item(
    told: ToldChannels, connection: asyncpg.Connection
) -> None:
    await make_channel(connection, window=0)
    await set_rule(told.node)
    await told.node.jobs.create(TENANT, [JobRequest(task="work", retry=ONCE)] * 80)
    await told.run(BROKEN)
    (message,) = await told.messages()
    assert len(message.items) == 50
    assert (message.items[-1].count, message.items[-1].title) == (31, "31 more causes with 31 facts")
    assert await statuses(told.node) == ["sent"] * 80


# When a channel is told


async def test_a_channel_is_told_what_is_severe_enough_and_that_it_is_over(
    told: ToldChannels, connection: asyncpg.Connection
) -> None:
    await make_channel(connection, severity="error")
    notify = [{"on": ["failed", "recovered", "retrying"], "to": ["ops"]}]
    await told.create(schedule="every 1m", retry={"max_attempts": 2, "initial": "1s"}, notify=notify)
    kinds = []
    for failure in (BROKEN, BROKEN, None):
        await told.later(MINUTE)
        await told.run(failure)
        kinds += [item.kind for item in await told.items()]
    assert kinds == ["execution.failed", "execution.recovered"]


async def test_in_quiet_hours_only_what_is_very_severe_is_told_and_the_rest_afterwards(
    told: ToldChannels, connection: asyncpg.Connection
) -> None:
    quiet = {"from": "11:00", "to": "13:00", "timezone": "UTC", "except": "error"}
    await make_channel(connection, quiet=quiet)  # it is noon
    await told.create(retry=ONCE, notify=[{"on": ["failed", "retrying"], "to": ["ops"]}])
    await told.create(notify=[{"on": ["failed", "retrying"], "to": ["ops"]}])
    await told.run(BROKEN)
    assert [item.kind for item in await told.items()] == ["execution.failed"]
    assert await told.items(after=50 * MINUTE) == []
    assert [item.kind for item in await told.items(after=15 * MINUTE)] == ["execution.retrying"]


@pytest.mark.parametrize(("digest", "until"), [("hourly", HOUR), ("daily", 21 * HOUR)])
async def test_a_digest_sums_up_the_hour_or_the_day(
    told: ToldChannels, connection: asyncpg.Connection, digest: str, until: timedelta
) -> None:
    await make_channel(connection, digest=digest)
    await set_rule(told.node)
    for failure in (BROKEN, OTHER, BROKEN):
        await told.create(retry=ONCE)
        await told.run(failure)
        assert await told.items(after=10 * MINUTE) == []
    (message,) = await told.messages(after=until)  # it was noon: at 13:00, or at 9:00 of the next day
    assert sorted(item.count for item in message.items) == [1, 2]


async def test_a_channel_gets_no_more_messages_a_minute_than_it_allows(
    told: ToldChannels, connection: asyncpg.Connection
) -> None:
    await make_channel(connection, window=0, rate=2)
    await set_rule(told.node)
    counts = []
    for _ in range(4):
        await told.create(retry=ONCE)
        await told.run(BROKEN)
        counts.append(len(await told.items(after=SECOND)))
    assert counts == [1, 1, 0, 0]
    assert len(await told.items(after=MINUTE)) == 2


async def test_a_paused_channel_is_told_afterwards(
    told: ToldChannels, connection: asyncpg.Connection
) -> None:
    await make_channel(connection)
    await connection.execute("UPDATE tickwork.channel SET paused = true")
    await set_rule(told.node)
    for _ in range(3):
        await told.create(retry=ONCE)
        await told.run(BROKEN)
        assert await told.items(after=MINUTE) == []
    await connection.execute("UPDATE tickwork.channel SET paused = false")
    assert [item.count for item in await told.items()] == [3]


async def test_what_waits_for_a_channel_that_is_deleted_says_so(
    told: ToldChannels, connection: asyncpg.Connection
) -> None:
    await make_channel(connection)
    await set_rule(told.node)
    await told.create(retry=ONCE)
    await told.run(BROKEN)
    await told.gather()
    await connection.execute("DELETE FROM tickwork.channel")
    assert await told.messages() == []
    (shown,) = (await told.node.notifications.log.list(TENANT, NotificationFilter(), 10, None)).items
    assert (shown.status, shown.error, shown.channel) == ("failed", "the channel was deleted", "ops")


# Deliveries


async def test_a_receiver_that_was_away_for_an_hour_gets_the_message_and_then_a_summary(
    told: ToldChannels, connection: asyncpg.Connection
) -> None:
    await make_channel(connection)
    await told.create(schedule="every 1m", retry=ONCE, notify=FAILED)
    await told.later(MINUTE)
    await told.run(BROKEN)
    (first,) = await told.deliveries()
    tries = [message_of(first).id]
    await told.sender.fail(first, AWAY)
    for _ in range(60):
        await told.later(MINUTE)
        await told.run(BROKEN)
        await told.gather()
        await told.node.step("claim")
        for run in await told.sender.runs():
            tries.append(message_of(run).id)
            await told.sender.fail(run, AWAY)
    assert (len(set(tries)), len(tries) > 10) == (1, True)
    assert await statuses(told.node) == ["sending", "waiting"]
    (delivered,) = await told.deliveries(after=10 * MINUTE)
    assert message_of(delivered).id == tries[0]
    await told.sender.complete(delivered)
    (summary,) = await told.items()
    assert summary.count == 60
    assert await statuses(told.node) == ["sent", "sent"]


async def test_a_delivery_that_fails_for_good_is_shown_and_can_be_sent_again_with_the_same_id(
    told: ToldChannels, connection: asyncpg.Connection
) -> None:
    await make_channel(connection)
    await told.create(retry=ONCE, notify=FAILED)
    await told.run(BROKEN)
    (run,) = await told.deliveries()
    await told.sender.fail(run, Failure("Http410", "gone", retry=False))
    await told.gather()
    (shown,) = (await told.node.notifications.log.list(TENANT, NotificationFilter(), 10, None)).items
    assert (shown.status, shown.attempts, shown.error) == ("failed", 1, "Http410: gone")
    assert shown.message_id == message_of(run).id

    again = await told.node.notifications.log.resend(TENANT, 1)
    assert (again.status, again.attempts, again.error) == ("sending", 0, None)
    (repeated,) = await told.messages(after=SECOND)
    assert repeated == message_of(run)
    assert await statuses(told.node) == ["sent"]
    assert await connection.fetchval("SELECT count(*) FROM tickwork.dead_letter WHERE tenant_id = 0") == 0


async def test_the_end_of_a_delivery_that_was_sent_again_meanwhile_changes_nothing(
    told: ToldChannels, connection: asyncpg.Connection
) -> None:
    await make_channel(connection)
    await told.create(retry=ONCE, notify=FAILED)
    await told.run(BROKEN)
    (run,) = await told.deliveries()
    await told.sender.fail(run, Failure("Http410", "gone", retry=False))
    await told.gather()
    await connection.execute("UPDATE tickwork.notifier SET place = 0")  # all events are handled another time
    await told.node.notifications.log.resend(TENANT, 1)
    await told.gather()
    assert (await statuses(told.node))[0] == "sending"


async def test_deliveries_are_in_no_list_of_users_and_cause_no_news(
    told: ToldChannels, connection: asyncpg.Connection, still_node: Node
) -> None:
    await make_channel(connection)
    await set_rule(told.node, on=["failed", "retrying", "late", "completed"])
    await still_node.step("read completion rules")
    await told.create(retry=ONCE)
    await told.run(BROKEN)
    (run,) = await told.deliveries()
    await told.sender.fail(run, Failure("Http410", "gone", retry=False))
    assert await told.items() == []
    assert run.tenant == 0
    owners = {
        row[0] for row in await connection.fetch("SELECT DISTINCT tenant_id FROM tickwork.notification")
    }
    assert owners == {TENANT}


async def test_a_bad_fact_does_not_keep_the_others_from_being_told(
    told: ToldChannels, connection: asyncpg.Connection
) -> None:
    await make_channel(connection)
    await set_rule(told.node)
    await told.create(retry=ONCE)
    await told.create(retry=ONCE)
    await told.run(BROKEN)
    await told.node.step("number events")
    await connection.execute(
        "UPDATE tickwork.event SET detail = '{\"message\": 1}', error_type = NULL, scheduled_for = '0001-01-01' "
        "WHERE number = (SELECT min(number) FROM tickwork.event WHERE kind = 'execution.failed')"
    )
    assert sum(item.count for item in await told.items(after=GATHERING)) >= 1
