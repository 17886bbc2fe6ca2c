"""What is coming among very many rules: the same as what each of their jobs says by itself.

The limits are so small here that most rules are left out of most parts of a page.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import httpx2
import pytest

from tickwork.model.public_ids import parse_job_id
from tickwork.model.upcoming import DueFilter
from tickwork.node import Node
from tickwork.schedule.due.calendar_bit_masks import from_seconds, to_seconds
from tickwork.schedule.due.time_zone import zone_named
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker
from tickwork.trigger import find_next_due_schedules, upcoming

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
ZONES = (
    "UTC", "Europe/Paris", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Antarctica/Troll",
    "Pacific/Chatham", "America/St_Johns",
)  # fmt: skip
CHANGING = ("Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Antarctica/Troll")
JOBS = 160

Due = tuple[datetime, str]


@pytest.fixture(autouse=True)
async def worker(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    return await ScriptedWorker.connect(still_node, tasks=["work"])


@pytest.fixture
async def now(still_node: Node) -> datetime:
    return await still_node._read.now()


def schedules(chance: Random, now: datetime) -> Iterator[dict[str, Any]]:
    """Of all kinds, most of them at hours in which clocks are changed."""
    for _ in range(JOBS):
        minute, hour = chance.randrange(60), chance.choice([0, 1, 2, 2, 2, 3, 3, chance.randrange(24)])
        other = minute + 1 + chance.randrange(60 - minute) if minute < 59 else 59
        start = now - chance.randrange(10**6) * timedelta(seconds=1)
        schedule: dict[str, Any] = chance.choice(
            [
                {"cron": f"{minute} {hour} * * *"},
                {"cron": f"{minute} {hour} * * *"},
                {"cron": f"{minute} {hour},{(hour + 1) % 24} * * *"},
                {"cron": f"{minute} * * * *"},
                {"cron": f"{minute},{other % 60} {hour} * * {chance.randrange(7)}"},
                {"cron": f"*/{chance.choice([5, 7, 20])} {hour} * * *"},
                {"cron": f"{chance.randrange(60)} {minute} {hour} * * *"},
                {"cron": f"*/20 {minute} {hour} * * *"},
                {"cron": f"{minute} {hour} L * *"},
                {
                    "rrule": f"FREQ=DAILY;INTERVAL=2;BYHOUR={hour};BYMINUTE={minute}",
                    "start": start.isoformat(),
                },
                {"every": chance.choice(["7m", "1h", "90m", "1d", "26h"]), "start": start.isoformat()},
                {"every": chance.choice(["13m", "2h"])},
                {"any": [f"{minute} {hour} * * *", f"{hour} */3 * * *"]},
            ]
        )
        if "every" not in schedule:
            schedule["timezone"] = chance.choice(ZONES)
        if "cron" in schedule and not chance.randrange(4):
            schedule["dst"] = {
                "gap": chance.choice(["next", "skip"]),
                "repeat": chance.choice(["once", "twice"]),
            }
        is_on_all_days = schedule.get("cron", "* * *").endswith("* * *") and "any" not in schedule
        if is_on_all_days and not chance.randrange(6):
            schedule["exclude"] = {"weekends": True}
        if not chance.randrange(6):
            schedule["end"] = (now + chance.randrange(40, 400) * DAY).isoformat()
        if not chance.randrange(6):
            schedule["max_runs"] = chance.randrange(1, 300)
        if not chance.randrange(6):
            schedule["jitter"] = "5m"
        yield schedule


async def create_all(client: httpx2.AsyncClient, seed: int, now: datetime) -> list[str]:
    jobs = [
        {"task": "work", "schedule": schedule, "queue": f"q{number % 3}"}
        for number, schedule in enumerate(schedules(Random(seed), now))  # noqa: S311 (no secret)
    ]
    answer = await client.post("/v1/jobs/batch", json=jobs)
    assert answer.status_code == 201, answer.text
    found = [item["id"] for item in (await client.get("/v1/jobs", params={"limit": JOBS})).json()["items"]]
    assert len(found) == JOBS
    return found


def clock_changes(now: datetime) -> Iterator[datetime]:
    """The next two of each zone that has them."""
    for name in CHANGING:
        at = to_seconds(now)
        for _ in range(2):
            at = zone_named(name).offset_period(at).end
            yield from_seconds(at)


async def listed(
    client: httpx2.AsyncClient, begin: datetime, until: datetime, limit: int, **query: Any
) -> list[Due]:
    """All pages. Each is full, or the last one, or says how far it is complete."""
    due: list[Due] = []
    query |= {"from": begin.isoformat(), "until": until.isoformat(), "limit": limit}
    while True:
        page = (await client.get("/v1/upcoming", params=query)).json()
        items = [
            (datetime.fromisoformat(item["at"]).astimezone(UTC), item["job_id"]) for item in page["items"]
        ]
        due += items
        if page["next_cursor"] is None:
            return due
        assert len(items) == limit or page["searched_until"]
        query["cursor"] = page["next_cursor"]


async def expected(node: Node, jobs: list[str], begin: datetime, until: datetime) -> list[Due]:
    """What each job says by itself."""
    due: list[Due] = []
    for number in map(parse_job_id, jobs):
        page = await node.upcoming.page(1, begin, until, 1000, None, DueFilter(job=number))
        assert page.next_cursor is None
        due += [(each.at, each.job_id) for each in page.items]
    return sorted(due)


@pytest.mark.parametrize("seed", [1, 2])
async def test_every_page_is_exact_although_few_rules_are_computed_at_once(
    client: httpx2.AsyncClient, still_node: Node, now: datetime, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = await create_all(client, seed, now)
    changes = sorted(set(clock_changes(now)))
    ranges = [(now, HOUR), (now + 30 * HOUR, HOUR)]
    ranges += [(at - timedelta(minutes=61), 2.5 * HOUR) for at in changes]
    for begin, length in ranges:
        wanted = await expected(still_node, jobs, begin, begin + length)
        for computed, rules, limit in ((90, 1000, 500), (110, 40, 37)):
            monkeypatch.setattr(upcoming, "COMPUTED_FIRST", computed)
            monkeypatch.setattr(upcoming, "_MOST_COMPUTED", computed)
            monkeypatch.setattr(find_next_due_schedules, "MOST_RULES", rules)
            found = await listed(client, begin, begin + length, limit)
            assert [at for at, _ in found] == [at for at, _ in wanted], begin
            assert sorted(found) == wanted, begin


async def test_a_page_goes_on_within_one_second_if_more_rules_can_be_due_then_than_are_computed(
    client: httpx2.AsyncClient, still_node: Node, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = await create_all(client, 3, now)
    monkeypatch.setattr(upcoming, "COMPUTED_FIRST", 7)
    monkeypatch.setattr(upcoming, "_MOST_COMPUTED", 7)
    begin = now.replace(hour=2, minute=0) + 10 * DAY - timedelta(seconds=2)
    wanted = await expected(still_node, jobs, begin, begin + timedelta(seconds=4))
    assert wanted
    assert sorted(await listed(client, begin, begin + timedelta(seconds=4), 3)) == wanted


async def test_a_filter_finds_the_same_among_many_rules(
    client: httpx2.AsyncClient, still_node: Node, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create_all(client, 4, now)
    begin, until = now + 5 * DAY, now + 5 * DAY + 3 * HOUR
    everything = await still_node.upcoming.page(1, begin, until, 1000, None)
    wanted = [(each.at, each.job_id) for each in everything.items if each.queue == "q1"]
    assert wanted
    monkeypatch.setattr(upcoming, "COMPUTED_FIRST", 90)
    monkeypatch.setattr(upcoming, "_MOST_COMPUTED", 90)
    monkeypatch.setattr(upcoming, "_LOOKED_AT", 20)
    for limit in (3, 500):
        assert await listed(client, begin, until, limit, queue="q1") == wanted
    page = await still_node.upcoming.page(1, begin, until, 5, None, DueFilter(queue="q1"))
    assert (len(page.items), page.searched_until) == (5, None)


async def test_counts_are_exact_where_rules_are_few(
    client: httpx2.AsyncClient, still_node: Node, now: datetime
) -> None:
    jobs = await create_all(client, 5, now)
    begin, until = now + 2 * DAY, now + 4 * DAY
    wanted = await expected(still_node, jobs, begin, until)
    counts = await still_node.upcoming_counts.count(1, begin, until, 3 * HOUR)
    assert not counts.estimate
    steps = [each.at for each in counts.items]
    assert [each.count for each in counts.items] == [
        sum(low <= at < high for at, _ in wanted)
        for low, high in zip(steps, [*steps[1:], until], strict=True)
    ]
