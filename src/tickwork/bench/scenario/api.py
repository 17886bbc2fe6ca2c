"""Single creates, gets and lists per second on a database that has been in use."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated
from urllib.parse import urlencode

from msgspec import Meta

from tickwork.bench import scenario_types as base
from tickwork.bench.api_load import Answers, ApiRequest, post, send_from_process
from tickwork.bench.bench_cluster import HELD_EQUAL, BenchCluster, running_cluster
from tickwork.bench.recurring_jobs import copy_job
from tickwork.bench.scenario_types import Many, ProgressLine, ScenarioResult
from tickwork.model.public_ids import execution_id, job_id, parse_job_id
from tickwork.store.partitions_and_retention import Partitions
from tickwork.store.pool import Database

_GOAL = 3000
_PAGE_GOAL = 50  # ms, 99 of 100
_PAGE = 100
_REQUESTS = 2000  # different requests of each kind
_CREATES = "creates"
_NAME = "single"
_STORED = f"SELECT count(*) FROM tickwork.job WHERE name = '{_NAME}'"  # noqa: S608 (a constant)

_ROUNDS = 100
_BETWEEN_ROUNDS = timedelta(hours=2)
_HISTORY_DAYS = 30
_BACKDATE_JOB = "UPDATE tickwork.job SET created_at = $2, updated_at = $2, active_from = $2 WHERE id = $1"
_ROUND = "INSERT INTO tickwork.round (rule_id, scheduled_for) VALUES ($1, $2)"
_EXECUTIONS = """
INSERT INTO tickwork.execution
    (scheduled_for, job_id, started_at, finished_at, tenant_id, lane_id, worker_id, status, trigger, priority)
SELECT $2::timestamptz, id, $2, $2::timestamptz + interval '10 milliseconds', tenant_id, lane_id, 1, 'completed',
    'schedule', priority
FROM tickwork.job WHERE rule_id = $1 ORDER BY id
"""


class Plan(base.Plan, frozen=True, kw_only=True):
    seconds: Annotated[float, Meta(description="How long to send requests of each kind.", gt=0)] = 15.0
    executions: Annotated[Many, Meta(description="How many executions the history holds.")] = 10_000_000
    in_flight: Annotated[Many, Meta(description="Creates and gets on their way at once.")] = 32
    pages_in_flight: Annotated[Many, Meta(description="Lists on their way at once.")] = 2


QUICK = Plan(executions=5_000, warm_up=0.2, seconds=0.5)


async def run(progress: ProgressLine, plan: Plan) -> ScenarioResult:
    async with running_cluster() as cluster:
        await cluster.start()
        jobs, times = await _create_history(
            cluster, plan.executions, progress.counter("executions of the past", plan.executions)
        )
        created, found = 0, {}
        for name, requests in _requests(jobs, times).items():
            progress.say(name.replace("_", " "))
            in_flight = plan.pages_in_flight if name.startswith("list") else plan.in_flight
            warm_up = await send_from_process(cluster, requests, in_flight=in_flight, seconds=plan.warm_up)
            found[name] = await send_from_process(
                cluster, requests, in_flight=in_flight, seconds=plan.seconds
            )
            if name == _CREATES:
                created = warm_up.answered + found[name].answered
        stored = await cluster.database.fetchval(_STORED)
    return _result(plan, found, created, stored)


def _requests(jobs: list[str], times: list[datetime]) -> dict[str, list[ApiRequest]]:
    far = {"at": "2099-01-01T00:00:00Z"}
    fields = {"task": "bench.count", "schedule": far, "name": _NAME}
    executions = [execution_id(parse_job_id(job), at) for job, at in _some(jobs, times)]
    moments = [{"limit": _PAGE, "until": at.isoformat()} for at in times]
    return {
        _CREATES: post("/v1/jobs", ({**fields, "payload": {"n": number}} for number in range(_REQUESTS))),
        "gets_of_jobs": [ApiRequest(f"/v1/jobs/{job}") for job in jobs],
        "gets_of_executions": [ApiRequest(f"/v1/executions/{execution}") for execution in executions],
        "lists_of_jobs": [
            ApiRequest(f"/v1/jobs?limit={_PAGE}"),
            ApiRequest(f"/v1/jobs?limit={_PAGE}&task=bench.count"),
        ],
        "lists_of_executions": [ApiRequest(f"/v1/executions?{urlencode(moment)}") for moment in moments],
        "lists_of_a_jobs_history": [ApiRequest(f"/v1/jobs/{job}/executions?limit={_PAGE}") for job in jobs],
    }


def _some(jobs: list[str], times: list[datetime]) -> list[tuple[str, datetime]]:
    """Pairs of jobs and times, far apart from one request to the next."""
    return [(jobs[number % len(jobs)], times[number * 37 % len(times)]) for number in range(_REQUESTS)]


def _result(plan: Plan, found: dict[str, Answers], created: int, stored: int) -> ScenarioResult:
    creates = found[_CREATES]
    pages = max(answers.summary()["p99_ms"] for name, answers in found.items() if name.startswith("list"))
    refused = sum(answers.refused for answers in found.values())
    return ScenarioResult(
        scenario="api",
        value=round(creates.rate),
        unit="creates/s",
        goal=_GOAL,
        met=creates.rate >= _GOAL and pages <= _PAGE_GOAL and not refused and created == stored,
        lost=max(created - stored, 0),
        doubled=max(stored - created, 0),
        details={
            "executions": plan.executions,
            "in_flight": plan.in_flight,
            "pages_in_flight": plan.pages_in_flight,
            **{name: answers.summary() for name, answers in found.items()},
            "page_p99_ms": pages,
            "page_p99_ms_goal": _PAGE_GOAL,
            "created": created,
            "stored": stored,
        },
        held_equal=HELD_EQUAL,
        series={
            f"{name.replace('_', ' ')}: % answered within so many ms": answers.curve()
            for name, answers in found.items()
        },
    )


async def _create_history(
    cluster: BenchCluster, executions: int, made: Callable[[int], None]
) -> tuple[list[str], list[datetime]]:
    """Fill the database with a history. Returns some of the jobs, and the times at which all of them ran."""
    jobs = max(executions // _ROUNDS, 1)
    latest = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    times = [latest - (_ROUNDS - step) * _BETWEEN_ROUNDS for step in range(_ROUNDS)]
    async with cluster.client() as client:
        first = await client.create_job(task="bench.count", payload={"n": 0}, schedule="every 2h")
    original = parse_job_id(first.id)
    await cluster.database.execute(_BACKDATE_JOB, original, times[0] - _BETWEEN_ROUNDS)
    await copy_job(cluster, first.id, 0, jobs, lambda _: None)
    await _make_partitions(cluster, times)
    rule = await cluster.database.fetchval("SELECT rule_id FROM tickwork.job WHERE id = $1", original)
    for at in times:
        async with cluster.database.transaction():
            await cluster.database.execute(_ROUND, rule, at)
            await cluster.database.execute(_EXECUTIONS, rule, at, timeout=600)
        made(jobs)
    await cluster.database.execute("VACUUM ANALYZE", timeout=1800)
    rows = await cluster.database.fetch(
        "SELECT id FROM tickwork.job WHERE rule_id = $1 ORDER BY random() LIMIT 1000", rule
    )
    return [job_id(row["id"]) for row in rows], times


async def _make_partitions(cluster: BenchCluster, times: list[datetime]) -> None:
    database = Database(cluster.database_url, size=1)
    await database.open()
    try:
        await Partitions(database, _HISTORY_DAYS).make_for(times)
    finally:
        await database.close()
