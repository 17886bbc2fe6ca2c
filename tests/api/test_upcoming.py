"""What is coming: every due time of all jobs in a range, in order, or counted in steps."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from tickwork.model.public_ids import parse_job_id
from tickwork.model.upcoming import DueFilter
from tickwork.node import Node
from tickwork.schedule.zone_name import read_zone_name
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker
from tickwork.trigger import count_upcoming, find_next_due_schedules, upcoming

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
async def worker(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    return await ScriptedWorker.connect(still_node, tasks=["work"])


@pytest.fixture
async def midnight(clock: SettableClock, still_node: Node) -> datetime:
    """Before anything is due."""
    now = await still_node._read.now()
    begin = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    await clock.advance(begin - now)
    return begin


async def create(client: httpx2.AsyncClient, **fields: Any) -> str:
    answer = await client.post("/v1/jobs", json={"task": "work", **fields})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def asked(client: httpx2.AsyncClient, **query: Any) -> dict[str, Any]:
    answer = await client.get("/v1/upcoming", params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def listed(client: httpx2.AsyncClient, **query: Any) -> list[tuple[datetime, str]]:
    """All pages."""
    due: list[tuple[datetime, str]] = []
    while True:
        page = await asked(client, **query)
        assert (
            page["next_cursor"] is None
            or page["searched_until"]
            or len(page["items"]) == query.get("limit", 50)
        )
        due += [(datetime.fromisoformat(item["at"]), item["job_id"]) for item in page["items"]]
        if page["next_cursor"] is None:
            return due
        query["cursor"] = page["next_cursor"]


async def counted(client: httpx2.AsyncClient, **query: Any) -> list[int]:
    return [item["count"] for item in (await asked(client, **query))["items"]]


async def test_every_due_time_is_listed_once_and_in_order(
    client: httpx2.AsyncClient, midnight: datetime
) -> None:
    hourly = await create(client, schedule="0 * * * *", name="hourly", queue="mail")
    also_hourly = await create(client, schedule="0 * * * *", priority="critical")
    half = await create(client, schedule="every 30m")
    once = await create(client, schedule={"at": (midnight + HOUR).isoformat()})
    later = await create(client, schedule={"at": (midnight + timedelta(days=200)).isoformat()})
    until = (midnight + 2 * HOUR).isoformat()
    expected = [
        (midnight + HOUR / 2, half),
        (midnight + HOUR, once),
        (midnight + HOUR, also_hourly),
        (midnight + HOUR, hourly),
        (midnight + HOUR, half),
        (midnight + HOUR * 1.5, half),
    ]
    for limit in (50, 1, 2, 4):
        assert await listed(client, until=until, limit=limit) == expected
    first = (await asked(client, until=until))["items"][3]
    assert first == {
        "at": first["at"], "job_id": hourly, "name": "hourly", "task": "work", "queue": "mail",
    }  # fmt: skip
    far = (midnight + timedelta(days=200)).isoformat()
    beyond = (midnight + timedelta(days=200, seconds=1)).isoformat()
    assert (midnight + timedelta(days=200), later) in await listed(client, **{"from": far}, until=beyond)


async def test_what_is_paused_cancelled_or_over_is_not_coming(
    client: httpx2.AsyncClient, midnight: datetime, clock: SettableClock
) -> None:
    paused, gone = await create(client, schedule="every 1h"), await create(client, schedule="every 1h")
    twice = await create(client, schedule={"every": "1h", "max_runs": 2})
    once = await create(client, schedule={"in": "1h"})
    for job in (paused, once):
        await client.post(f"/v1/jobs/{job}/pause")
    await client.delete(f"/v1/jobs/{gone}")
    assert await listed(client) == [(midnight + HOUR, twice), (midnight + 2 * HOUR, twice)]
    assert sum(await counted(client, step="1h")) == 2
    await client.post(f"/v1/jobs/{once}/resume")
    assert (midnight + HOUR, once) in await listed(client)


async def test_a_round_that_was_fired_ahead_is_listed_once(
    client: httpx2.AsyncClient, midnight: datetime, clock: SettableClock, still_node: Node
) -> None:
    jobs = [await create(client, schedule="every 1h") for _ in range(3)]
    await clock.advance(HOUR - timedelta(milliseconds=200))
    while await still_node.step("fire"):
        pass
    until = (midnight + HOUR + MINUTE).isoformat()
    assert sorted(await listed(client, until=until, limit=2)) == [
        (midnight + HOUR, job) for job in sorted(jobs)
    ]
    assert sum(await counted(client, until=until, step="1m")) == 3


async def test_a_list_that_takes_too_much_work_says_how_far_it_is_complete(
    client: httpx2.AsyncClient, midnight: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upcoming, "_ROUNDS_TOGETHER", 2)
    monkeypatch.setattr(upcoming, "_MOST_ROUNDS", 4)
    monkeypatch.setattr(upcoming, "_SEARCH_WITHIN", 0)
    await client.post(
        f"/v1/jobs/{await create(client, schedule='every 1m')}/pause"
    )  # its rule has no jobs left
    await create(client, schedule={"every": "1m", "max_runs": 1})
    last = await create(client, schedule={"at": (midnight + HOUR).isoformat()})
    page = await asked(client)
    assert page["searched_until"] is not None
    assert len(await listed(client, until=(midnight + HOUR + MINUTE).isoformat())) == 2
    assert (midnight + HOUR, last) in await listed(client, until=(midnight + HOUR + MINUTE).isoformat())


async def test_pages_are_complete_and_in_order_with_more_rules_than_a_page_reads(
    client: httpx2.AsyncClient, midnight: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rules at equal intervals, some of them due at the same time, and rules that are not."""
    for minutes in (10, 11, 12, 15, 20, 30):
        await create(client, schedule=f"every {minutes}m")
    for schedule in ("*/10 * * * *", "7 * * * *", "30 0-2 * * *"):
        await create(client, schedule=schedule)
    await create(client, schedule={"at": (midnight + HOUR).isoformat()})
    until = (midnight + 2 * HOUR).isoformat()
    everything = await listed(client, until=until)
    assert len(everything) > 50
    for most, limit in ((2, 500), (2, 1), (3, 7), (1, 3)):
        monkeypatch.setattr(find_next_due_schedules, "MOST_RULES", most)
        assert await listed(client, until=until, limit=limit) == everything


async def test_two_rules_that_are_due_together_are_both_listed_again_and_again(
    client: httpx2.AsyncClient, midnight: datetime
) -> None:
    first = await create(client, schedule="every 10m")
    second = await create(client, schedule="*/10 * * * *")
    expected = [(midnight + minutes * MINUTE, job) for minutes in (10, 20, 30) for job in (first, second)]
    for limit in (1, 2, 3):
        assert await listed(client, until=(midnight + 31 * MINUTE).isoformat(), limit=limit) == expected


async def test_a_page_that_is_searched_for_too_long_says_how_far_it_is_complete_and_goes_on(
    client: httpx2.AsyncClient, midnight: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of rules that are due on other days, none is found in the first part of a page."""
    monkeypatch.setattr(upcoming, "COMPUTED_FIRST", 1)
    monkeypatch.setattr(upcoming, "_MOST_COMPUTED", 2)
    monkeypatch.setattr(upcoming, "_SEARCH_WITHIN", 0)
    for minute in range(1, 6):
        await create(client, schedule=f"{minute} 0 {(midnight + 3 * HOUR).day} * *")
    due = await create(client, schedule="3 1 * * *")
    range_ = {"from": (midnight + 24 * HOUR).isoformat(), "until": (midnight + 28 * HOUR).isoformat()}
    page = await asked(client, **range_)
    assert (page["items"], page["next_cursor"] is None) == ([], False)
    assert page["searched_until"] > (midnight + 24 * HOUR).isoformat()
    assert await listed(client, **range_) == [(midnight + 25 * HOUR + 3 * MINUTE, due)]


async def test_a_share_of_very_many_rules_is_counted_and_the_answer_is_an_estimate(
    client: httpx2.AsyncClient, midnight: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    for minutes in range(1, 41):
        await create(client, schedule={"every": "1h", "start": (midnight + minutes * MINUTE).isoformat()})
    until = (midnight + 3 * HOUR).isoformat()
    exact = await asked(client, until=until, step="1h")
    assert (sum(item["count"] for item in exact["items"]), exact["estimate"]) == (120, False)
    monkeypatch.setattr(count_upcoming, "MOST_COUNTED", 39)
    monkeypatch.setattr(count_upcoming, "SHARE_COUNTED", 20)
    share = await asked(client, until=until, step="1h")
    assert (sum(item["count"] for item in share["items"]), share["estimate"]) == (120, True)


async def test_a_rule_with_most_of_the_jobs_stands_for_itself_in_a_share(
    client: httpx2.AsyncClient, midnight: datetime, still_node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    for minutes in range(1, 41):
        await create(client, schedule={"every": "1h", "start": (midnight + minutes * MINUTE).isoformat()})
    await client.post("/v1/jobs/batch", json=[{"task": "work", "schedule": "every 30m"}] * 400)
    async with still_node._database.transaction() as connection:
        await connection.execute("ANALYZE tickwork.job")
    monkeypatch.setattr(count_upcoming, "MOST_COUNTED", 39)
    monkeypatch.setattr(count_upcoming, "SHARE_COUNTED", 10)
    query = {"from": (midnight + HOUR).isoformat(), "until": (midnight + 3 * HOUR).isoformat()}
    assert await counted(client, **query, step="1h") == [840, 840]


async def test_due_times_are_counted_in_steps(client: httpx2.AsyncClient, midnight: datetime) -> None:
    for _ in range(3):
        await create(client, schedule="every 10m")
    await create(client, schedule="30 1 * * *")
    await create(client, schedule={"at": (midnight + 2.5 * HOUR).isoformat()})
    answer = await asked(client, until=(midnight + 3 * HOUR).isoformat(), step="1h")
    assert answer["items"] == [
        {
            "at": (midnight + number * HOUR).isoformat().replace("+00:00", "Z"),
            "count": count,
            "task": None,
            "queue": None,
        }
        for number, count in enumerate(
            [5 * 3, 6 * 3 + 1, 6 * 3 + 1]
        )  # what is due at midnight has been fired
    ]
    assert (answer["estimate"], answer["searched_until"]) == (False, None)
    begin = (midnight + 90 * MINUTE).isoformat()
    assert await counted(
        client, **{"from": begin}, until=(midnight + 150 * MINUTE).isoformat(), step="1h"
    ) == [10, 9]


async def test_due_times_are_counted_by_queue_and_by_task(
    client: httpx2.AsyncClient, midnight: datetime
) -> None:
    await create(client, queue="mail", schedule="every 30m")
    await create(client, queue="mail", schedule={"at": (midnight + MINUTE).isoformat()})
    await create(client, queue="reports", schedule={"cron": "0 1 * * *"})
    query = {"from": midnight.isoformat(), "until": (midnight + 2 * HOUR).isoformat(), "step": "1h"}
    items = (await asked(client, **query, by="queue"))["items"]
    counts = [(item["at"][11:16], item["queue"], item["count"]) for item in items]
    in_first = sum(count for at, queue, count in counts if (at, queue) == ("00:00", "mail"))
    in_second = sum(count for at, queue, count in counts if (at, queue) == ("01:00", "mail"))
    assert in_first + in_second in (4, 5, 6)
    assert ("01:00", "reports", 1) in counts
    assert ("00:00", "reports", 0) not in counts
    by_task = (await asked(client, **query, by="task"))["items"]
    assert {item["task"] for item in by_task} == {"work"}
    assert sum(item["count"] for item in by_task) == sum(count for _, _, count in counts)


async def test_days_are_those_of_the_time_zone(client: httpx2.AsyncClient, midnight: datetime) -> None:
    await create(client, schedule={"cron": "30 23 * * *", "timezone": "Asia/Kolkata"})
    query = {"from": midnight.isoformat(), "until": (midnight + 96 * HOUR).isoformat(), "step": "1d"}
    items = (await asked(client, **query, timezone="Asia/Kolkata"))["items"]
    assert {item["at"][11:19] for item in items} == {"18:30:00"}
    assert [item["count"] for item in items[:4]] == [1, 1, 1, 1]
    hourly = (await asked(client, **{**query, "step": "6h"}, timezone="Asia/Kolkata"))["items"]
    assert {item["at"][14:19] for item in hourly} == {"30:00"}


async def test_days_with_a_clock_change_are_longer_or_shorter() -> None:
    zone = read_zone_name("Europe/Paris").info
    begin = datetime(2026, 3, 28, 12, tzinfo=UTC)
    starts = count_upcoming.step_starts(begin, begin + timedelta(days=3), timedelta(days=1), zone)
    assert [start.hour for start in starts] == [23, 23, 22, 22]
    last = datetime(9999, 12, 31, 12, tzinfo=UTC)
    assert count_upcoming.step_starts(last, last + HOUR, timedelta(days=1), zone)


@pytest.mark.parametrize("schedule", ["every 10m", "*/10 * * * *"])
async def test_frequent_rules_are_counted_by_their_rate(
    client: httpx2.AsyncClient, midnight: datetime, schedule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create(client, schedule=schedule)
    query = {"from": (midnight + HOUR).isoformat(), "until": (midnight + 6 * HOUR).isoformat(), "step": "1h"}
    exact = await counted(client, **query)
    monkeypatch.setattr(count_upcoming, "_MOST_TIMES", 10)
    monkeypatch.setattr(count_upcoming, "_LEAST_TIMES", 10)
    answer = await asked(client, **query)
    assert [item["count"] for item in answer["items"]] == exact == [6] * 5
    assert answer["estimate"] == (schedule != "every 10m")


async def test_the_jobs_of_a_large_rule_are_estimated(
    client: httpx2.AsyncClient, midnight: datetime, still_node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    await client.post("/v1/jobs/batch", json=[{"task": "work", "schedule": "every 1h"}] * 300)
    await client.post("/v1/jobs/batch", json=[{"task": "work", "schedule": "every 2h"}] * 100)
    monkeypatch.setattr(count_upcoming, "_MOST_JOBS", 50)
    query = {"from": (midnight + HOUR).isoformat(), "until": (midnight + 3 * HOUR).isoformat(), "step": "1h"}
    unknown = await asked(client, **query)
    assert (unknown["estimate"], [item["count"] for item in unknown["items"]]) == (True, [51, 102])
    async with still_node._database.transaction() as connection:
        await connection.execute("ANALYZE tickwork.job")
    assert await counted(client, **query) == [300, 400]


async def test_other_tenants_due_times_are_not_shown(
    client: httpx2.AsyncClient, midnight: datetime, still_node: Node
) -> None:
    await create(client, schedule="every 1h")
    await create(client, schedule={"in": "1h"})
    begin, end = await still_node.upcoming.range(None, None)
    assert (await still_node.upcoming.page(2, begin, end, 10, None)).items == []
    counts = await still_node.upcoming_counts.count(2, begin, end, HOUR)
    assert {each.count for each in counts.items} == {0}


@pytest.mark.parametrize("begin", ["0001-01-01T00:00:00Z", "9999-12-30T00:00:00Z"])
async def test_nothing_is_due_at_the_ends_of_time(
    client: httpx2.AsyncClient, midnight: datetime, begin: str
) -> None:
    await create(client, schedule="every 1h")
    assert await listed(client, **{"from": begin}) == []
    assert sum(await counted(client, **{"from": begin}, step="3660d")) == 0


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ({"until": "2020-01-01T00:00:00Z"}, "until"),
        ({"from": "2030-01-01T00:00:00Z", "until": "2032-01-01T00:00:00Z"}, "until"),
        ({"step": "1s"}, "step"),
        ({"step": "0"}, "step"),
        ({"step": "often"}, "step"),
        ({"from": "tomorrow"}, "from"),
        ({"cursor": "nonsense"}, "cursor"),
    ],
)
async def test_nonsense_is_refused_by_name(
    client: httpx2.AsyncClient, query: dict[str, str], path: str
) -> None:
    answer = await client.get("/v1/upcoming", params=query)
    assert answer.status_code == 422
    assert [error["path"] for error in answer.json()["errors"]] == [path]


async def test_a_filter_leaves_only_what_fits_all_of_it(
    client: httpx2.AsyncClient, midnight: datetime, still_node: Node
) -> None:
    await ScriptedWorker.offer_only(still_node, ["other"])
    mail = await create(client, schedule="every 30m", queue="mail", tags=["billing"], key="mail")
    other = await create(client, task="other", schedule="every 30m", tags=["billing", "eu"])
    once = await create(client, schedule={"at": (midnight + HOUR).isoformat()}, tags=["eu"])
    await create(client, schedule="every 30m")
    until = (midnight + HOUR + MINUTE).isoformat()
    for query, jobs in (
        ({"queue": "mail"}, [mail, mail]),
        ({"task": "other"}, [other, other]),
        ({"tag": "billing"}, [mail, other, mail, other]),
        ({"tag": "eu"}, [other, once, other]),
        ({"tag": "billing", "task": "work"}, [mail, mail]),
        ({"job": mail}, [mail, mail]),
        ({"job": "key:mail", "queue": "mail"}, [mail, mail]),
        ({"job": mail, "task": "other"}, []),
        ({"job": once}, [once]),
        ({"tag": "unknown"}, []),
    ):
        assert sorted(job for _, job in await listed(client, until=until, **query)) == sorted(jobs), query
        assert sum(await counted(client, until=until, step="10m", **query)) == len(jobs), query


async def test_a_filtered_list_continues_where_the_page_before_ended(
    client: httpx2.AsyncClient, midnight: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upcoming, "_LOOKED_AT", 2)
    monkeypatch.setattr(upcoming, "_SEARCH_WITHIN", 0)
    rare = await create(client, schedule="every 1h", tags=["rare"])
    for _ in range(4):
        await create(client, schedule="every 5m")
    until = (midnight + 3 * HOUR + MINUTE).isoformat()
    expected = [(midnight + hours * HOUR, rare) for hours in (1, 2, 3)]
    assert await listed(client, until=until, limit=3, tag="rare") == expected
    assert await listed(client, until=until, limit=1, job=rare) == expected


async def test_of_a_tag_with_very_many_jobs_the_count_is_an_estimate(
    client: httpx2.AsyncClient, midnight: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(count_upcoming, "MOST_TAGGED", 3)
    monkeypatch.setattr(count_upcoming, "_MOST_JOBS", 4)
    batch = [{"task": "work", "schedule": "every 1h", "tags": ["big"]} for _ in range(8)]
    assert (await client.post("/v1/jobs/batch", json=batch)).status_code == 201
    await create(client, schedule={"at": (midnight + HOUR).isoformat()}, tags=["big"])
    await create(client, schedule={"at": (midnight + HOUR).isoformat()})
    found = await asked(client, until=(midnight + HOUR + MINUTE).isoformat(), step="1h", tag="big")
    assert found["estimate"]
    assert sum(item["count"] for item in found["items"]) > 1


async def test_a_filter_shows_nothing_of_another_tenant(
    client: httpx2.AsyncClient, midnight: datetime, still_node: Node
) -> None:
    job = parse_job_id(await create(client, schedule="every 1h", tags=["a"]))
    begin, end = await still_node.upcoming.range(None, None)
    for wanted in (DueFilter(job=job), DueFilter(tag="a"), DueFilter(task="work")):
        assert (await still_node.upcoming.page(2, begin, end, 10, None, wanted)).items == []
        counts = await still_node.upcoming_counts.count(2, begin, end, HOUR, wanted=wanted)
        assert sum(each.count for each in counts.items) == 0


@pytest.mark.parametrize(
    ("zone", "minute"), [("Asia/Kolkata", 30), ("Asia/Kathmandu", 15), ("Europe/Paris", 0)]
)
async def test_hours_are_those_of_the_time_zone(
    client: httpx2.AsyncClient, midnight: datetime, zone: str, minute: int
) -> None:
    await create(client, schedule="every 10m")
    items = (await asked(client, step="1h", timezone=zone))["items"]
    assert {datetime.fromisoformat(item["at"]).minute for item in items} == {minute}
    assert {item["count"] for item in items[1:-1]} == {6}
