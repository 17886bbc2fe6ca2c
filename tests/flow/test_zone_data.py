"""New time zone data moves the timers that were computed with the old."""

import asyncpg

from tickwork.model.job import JobRequest
from tickwork.model.ping import PingRequest
from tickwork.node import Node
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1


async def test_timers_follow_new_time_zone_data(still_node: Node, connection: asyncpg.Connection) -> None:
    await ScriptedWorker.offer_only(still_node, ["work"])
    request = JobRequest(task="work", schedule="0 9 * * *", timezone="Europe/Paris")
    (job,) = await still_node.jobs.create(TENANT, [request])
    await still_node.step("update zone data")
    # as if the last data had said that Paris is an hour off
    await connection.execute("UPDATE tickwork.rule SET next_at = next_at + interval '1 hour'")
    await still_node.step("update zone data")
    assert (await still_node.jobs.get(TENANT, 1)).next_run_at != job.next_run_at
    await connection.execute("UPDATE tickwork.zone_data SET version = '2001.1'")
    await still_node.step("update zone data")
    assert (await still_node.jobs.get(TENANT, 1)).next_run_at == job.next_run_at


async def test_what_is_expected_of_pings_follows_new_time_zone_data(
    still_node: Node, connection: asyncpg.Connection
) -> None:
    await still_node.step("update zone data")
    request = PingRequest(schedule="0 9 * * *", timezone="Europe/Paris")
    expected_at = (await still_node.pings.set(TENANT, "backup", request)).view.expected_at
    every_hour = (await still_node.pings.set(TENANT, "other", PingRequest(schedule="every 1h"))).view
    await connection.execute("UPDATE tickwork.ping SET expected_at = expected_at + interval '1 hour'")
    await connection.execute("UPDATE tickwork.zone_data SET version = '2001.1'")
    await still_node.step("update zone data")
    assert (await still_node.pings.get(TENANT, "backup")).expected_at == expected_at
    assert (await still_node.pings.get(TENANT, "other")).expected_at != every_hour.expected_at
