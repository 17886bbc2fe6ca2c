"""GET /v1/timeline: past, now and future of the jobs or tasks that matter most."""

from datetime import datetime, timedelta
from typing import Any

import httpx2
import pytest

from api.conftest import MakeTenant
from support.node_steps import later, run_due
from tickwork.model.worker_protocol import Failure
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker
from tickwork.timeline import build_timeline

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


async def create(client: httpx2.AsyncClient, **fields: Any) -> str:
    answer = await client.post("/v1/jobs", json={"task": "work", **fields})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def shown(client: httpx2.AsyncClient, **query: Any) -> dict[str, Any]:
    answer = await client.get("/v1/timeline", params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def counts(row: dict[str, Any]) -> dict[str, int]:
    """How many executions of each state all bars of a row have."""
    sums: dict[str, int] = {}
    for bar in row["bars"]:
        for state, count in bar["counts"].items():
            sums[state] = sums.get(state, 0) + count
    return sums


@pytest.fixture
async def worker(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    return await ScriptedWorker.connect(still_node, ["work", "mail"], credit=4)


async def run_all(node: Node, worker: ScriptedWorker) -> None:
    await run_due(node)
    await worker.report_all(await worker.runs())
    await node.step("record")


async def upkeep(node: Node) -> None:
    for loop in ("number events", "write statistics"):
        await node.step(loop)


async def test_an_empty_system_has_a_time_line(client: httpx2.AsyncClient) -> None:
    line = await shown(client)
    assert (line["rows"], line["more"], line["slots"], line["by"]) == ([], 0, 0, "job")
    assert (line["busy"], line["wanted"], line["shortages"], line["due_known_until"]) == ([], [], [], None)
    begin, at, until = (datetime.fromisoformat(line[name]) for name in ("from", "at", "until"))
    assert (at - begin) / (until - begin) == pytest.approx(0.7)


async def test_a_row_has_what_ran_what_runs_and_what_is_due(
    clock: SettableClock, still_node: Node, client: httpx2.AsyncClient, worker: ScriptedWorker
) -> None:
    job = await create(client, name="nightly", schedule="every 10m")
    for _ in range(3):
        await later(clock, worker, 10 * MINUTE)
        await run_all(still_node, worker)
    await client.post(f"/v1/jobs/{job}/run")
    await run_due(still_node)
    await later(clock, worker, timedelta(seconds=5))
    await upkeep(still_node)
    line = await shown(client, by="job")
    (row,) = line["rows"]
    assert (row["id"], row["name"], row["task"], row["failing"]) == (job, "nightly", "work", False)
    found = counts(row)
    assert (found["completed"], found["running"]) == (3, 1)
    assert found["due"] in range(14, 17)  # every ten minutes for more than two and a half hours
    (running,) = [bar for bar in row["bars"] if bar["state"] == "running"]
    assert running["until"] is None
    ran = [bar["execution_id"] for bar in row["bars"] if bar["state"] == "completed"]
    for execution in ran:
        assert (await client.get(f"/v1/executions/{execution}")).json()["job_id"] == job
    due = [datetime.fromisoformat(bar["from"]) for bar in row["bars"] if bar["state"] == "due"]
    assert min(due) == datetime.fromisoformat(row["next_at"]) > datetime.fromisoformat(line["at"])
    assert line["slots"] == 4


async def test_failing_jobs_come_first_and_the_others_are_counted(
    clock: SettableClock, still_node: Node, client: httpx2.AsyncClient, worker: ScriptedWorker
) -> None:
    broken = await create(client, name="broken", schedule="every 1h", retry={"max_attempts": 1})
    for number in range(3):
        await create(client, name=f"well {number}", schedule="every 5m")
    await later(clock, worker, HOUR)
    await run_due(still_node)
    for run in await worker.runs():
        if run.job == 1:
            await worker.fail(run, Failure("ValueError", "no", None))
    await still_node.step("record")
    await upkeep(still_node)
    line = await shown(client, rows=2)
    assert line["rows"][0]["id"] == broken
    assert line["rows"][0]["failing"]
    assert counts(line["rows"][0])["failed"] == 1
    assert (len(line["rows"]), line["more"]) == (2, 2)


async def test_what_is_close_together_is_one_bar_and_leads_to_no_single_execution(
    clock: SettableClock, still_node: Node, client: httpx2.AsyncClient, worker: ScriptedWorker
) -> None:
    await create(client, schedule="every 1m")
    for _ in range(6):
        await later(clock, worker, MINUTE)
        await run_all(still_node, worker)
    now = await still_node._read.now() + timedelta(seconds=1)
    wide = await shown(client, **{"from": (now - timedelta(days=30)).isoformat(), "until": now.isoformat()})
    (bar,) = wide["rows"][0]["bars"]
    assert bar["counts"] == {"completed": 6}
    assert bar["execution_id"] is None
    narrow = await shown(client, **{"from": (now - HOUR).isoformat(), "until": now.isoformat()})
    assert len(narrow["rows"][0]["bars"]) == 6


async def test_rows_of_tasks_sum_up_their_jobs(
    clock: SettableClock, still_node: Node, client: httpx2.AsyncClient, worker: ScriptedWorker
) -> None:
    for _ in range(3):
        await create(client, task="mail")
    await create(client)
    await run_all(still_node, worker)
    await create(client, task="mail", schedule="every 30m")
    line = await shown(client, by="task")
    assert [row["id"] for row in line["rows"]] == ["mail", "work"]
    assert counts(line["rows"][0])["completed"] == 3
    assert counts(line["rows"][0])["due"] >= 4
    assert counts(line["rows"][1]) == {"completed": 1}


async def test_a_busy_task_is_shown_by_its_statistics(
    clock: SettableClock,
    still_node: Node,
    client: httpx2.AsyncClient,
    worker: ScriptedWorker,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(build_timeline, "_MOST_OF_TASKS", 3)
    for _ in range(5):
        await create(client)
    await run_all(still_node, worker)
    await run_all(still_node, worker)
    await create(client)
    await run_due(still_node)
    await upkeep(still_node)
    await later(clock, worker, 2 * MINUTE)
    await still_node.step("write statistics")
    (row,) = (await shown(client, by="task"))["rows"]
    assert counts(row) == {"completed": 5, "running": 1}


async def test_a_job_that_ran_too_often_says_from_when_on_it_is_complete(
    clock: SettableClock,
    still_node: Node,
    client: httpx2.AsyncClient,
    worker: ScriptedWorker,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(build_timeline, "_MOST_OF_JOB", 2)
    await create(client, schedule="every 1m")
    for _ in range(4):
        await later(clock, worker, MINUTE)
        await run_all(still_node, worker)
    line = await shown(client, by="job")
    (row,) = line["rows"]
    assert counts(row)["completed"] == 2
    first = min(datetime.fromisoformat(bar["from"]) for bar in row["bars"])
    assert first >= datetime.fromisoformat(row["complete_since"])


async def test_more_than_the_slots_at_once_is_a_shortage(
    client: httpx2.AsyncClient, still_node: Node, worker: ScriptedWorker
) -> None:
    at = (await still_node._read.now() + 10 * MINUTE).isoformat()
    for _ in range(7):
        await create(client, schedule={"at": at})
    line = await shown(client)
    (shortage,) = line["shortages"]
    assert (shortage["wanted"], shortage["slots"], shortage["delay"]) == (7, 4, 1.0)
    assert max(part["slots"] for part in line["wanted"]) == 7


async def test_where_due_times_are_too_many_the_rest_is_an_average(
    client: httpx2.AsyncClient, worker: ScriptedWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_timeline, "_MOST_DUE", 5)
    await create(client, schedule="every 1m")
    line = await shown(client, by="task")
    known = datetime.fromisoformat(line["due_known_until"])
    assert known - datetime.fromisoformat(line["at"]) <= 6 * MINUTE
    later_on = [part for part in line["wanted"] if datetime.fromisoformat(part["from"]) >= known]
    assert later_on
    assert 150 < counts(line["rows"][0])["due"] < 160


async def test_a_zoom_into_the_past_has_no_future_and_one_into_the_future_no_past(
    clock: SettableClock, still_node: Node, client: httpx2.AsyncClient, worker: ScriptedWorker
) -> None:
    await create(client, schedule="every 10m")
    await later(clock, worker, 10 * MINUTE)
    await run_all(still_node, worker)
    now = await still_node._read.now()
    past = await shown(client, **{"from": (now - HOUR).isoformat(), "until": (now - MINUTE / 2).isoformat()})
    assert counts(past["rows"][0] if past["rows"] else {"bars": []}).keys() <= {"completed"}
    assert past["wanted"] == []
    ahead = await shown(client, **{"from": (now + HOUR).isoformat(), "until": (now + 2 * HOUR).isoformat()})
    assert counts(ahead["rows"][0]) == {"due": 6}
    assert ahead["busy"] == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"from": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"}, "until"),
        ({"from": "2026-01-01T00:00:00Z", "until": "2026-03-01T00:00:00Z"}, "until"),
        ({"rows": "0"}, "rows"),
        ({"by": "queue"}, "by"),
    ],
)
async def test_what_cannot_be_shown_is_refused_by_its_field(
    client: httpx2.AsyncClient, query: dict[str, str], field: str
) -> None:
    answer = await client.get("/v1/timeline", params=query)
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, field)


async def test_other_tenants_see_nothing_of_it(
    client: httpx2.AsyncClient, make_tenant: MakeTenant, worker: ScriptedWorker
) -> None:
    await create(client, schedule="every 1m")
    bob = await make_tenant("bob")
    for by in ("job", "task"):
        line = await shown(bob.admin, by=by)
        assert (line["rows"], line["more"], line["wanted"], line["slots"]) == ([], 0, [], 0)
