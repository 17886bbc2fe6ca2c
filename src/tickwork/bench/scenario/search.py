"""How long every filter of jobs and executions takes, and common pairs, among ten million and thirty million."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from time import perf_counter
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from tickwork.bench import scenario_types as base
from tickwork.bench.bench_cluster import HELD_EQUAL, running_cluster
from tickwork.bench.scenario_types import Many, ProgressLine, ScenarioResult
from tickwork.bench.search_data import (
    CUSTOMERS,
    OWNERS,
    QUEUES,
    TASKS,
    TEAMS,
    SearchData,
    index_all,
    let_rest,
    make_data,
)
from tickwork.model.public_ids import job_id, worker_id

_GOAL = 50.0  # ms
_PAGE = 50

_Searches = dict[str, dict[str, Any]]  # filters by what they are about


class Plan(base.Plan, frozen=True, kw_only=True):
    jobs: Annotated[Many, Meta(description="How many jobs there are.")] = 10_000_000
    executions: Annotated[Many, Meta(description="How many executions there are.")] = 30_000_000
    requests: Annotated[Many, Meta(description="How often each filter is asked for.")] = 100


QUICK = Plan(jobs=20_000, executions=30_000, requests=5)


def job_searches(n: int, data: SearchData) -> _Searches:
    """Of the n-th request: values differ where a filter has many."""
    return {
        "no filter": {},
        "a common word": {"q": ("report", "invoice", "backup")[n % 3]},
        "the beginning of a word": {"q": ("newsl", "synch", "resiz")[n % 3]},
        "a rare word": {"q": str((n * 7919) % 199_999)},
        "two words": {"q": f"weekly {(n * 7919) % 199_999}"},
        "a word of the description": {"q": "night shift"},
        "status active": {"status": "active"},
        "status paused": {"status": "paused"},
        "status completed": {"status": "completed"},
        "status failed": {"status": "failed"},
        "status cancelled": {"status": "cancelled"},
        "health failing": {"health": "failing"},
        "health late": {"health": "late"},
        "health blocked": {"health": "blocked"},
        "health ok": {"health": "ok"},
        "health unknown": {"health": "unknown"},
        "owner": {"owner": f"owner-{n % OWNERS}"},
        "queue": {"queue": QUEUES[n % len(QUEUES)]},
        "priority": {"priority": ("critical", "high", "normal", "low")[n % 4]},
        "task": {"task": TASKS[n % len(TASKS)]},
        "task prefix": {"task": f"{TASKS[n % len(TASKS)].partition('.')[0]}.*"},
        "a common tag": {"tag": ("eu", "us")[n % 2]},
        "a rare tag": {"tag": f"customer-{(n * 7919) % CUSTOMERS}"},
        "a tag that no job has": {"tag": f"nobody-{n}"},
        "two tags": {"tag": ["eu", f"team-{n % TEAMS}"]},
        "two tags that no job has both": {"tag": ["eu", "us"]},
        "created in a day": _between("created", data.now - timedelta(days=7 + (n * 37) % 280), timedelta(days=1)),
        "due in a minute": _between("due", data.now + timedelta(hours=30 + n), timedelta(minutes=1)),
        "due in an hour": _between("due", data.now + timedelta(hours=3 + n), timedelta(hours=1)),
        "recurring": {"recurring": True},
        "key": {"key": f"job-{5 * n + 5}"},
        "oldest first": {"sort": "created_at"},
        "by next run": {"sort": "next_run_at"},
        "by health": {"sort": "health"},
        "status and queue": {"status": "active", "queue": QUEUES[n % len(QUEUES)]},
        "status and owner": {"status": "paused", "owner": f"owner-{n % OWNERS}"},
        "status and task": {"status": "failed", "task": TASKS[n % len(TASKS)]},
        "status and word": {"status": "completed", "q": "invoice"},
        "queue and priority": {"queue": QUEUES[n % len(QUEUES)], "priority": "critical"},
        "tag and word": {"tag": f"team-{n % TEAMS}", "q": "backup"},
        "tag and created in a day": {
            "tag": "eu", **_between("created", data.now - timedelta(days=7 + (n * 37) % 280), timedelta(days=1))
        },
        "health and owner": {"health": "failing", "owner": f"owner-{n % OWNERS}"},
        "queue and due in an hour": {
            "queue": QUEUES[n % len(QUEUES)], **_between("due", data.now + timedelta(hours=3 + n), timedelta(hours=1))
        },
        "queue by next run": {"queue": QUEUES[n % len(QUEUES)], "sort": "next_run_at"},
        "a rare tag by next run": {
            "tag": f"customer-{(n * 7919) % CUSTOMERS}", "sort": "next_run_at"
        },
        "owner by health": {"owner": f"owner-{n % OWNERS}", "sort": "health"},
        "task, oldest first": {"task": TASKS[n % len(TASKS)], "sort": "created_at"},
    }  # fmt: skip


def count_searches(n: int, _: SearchData) -> _Searches:
    return {
        "estimate of a common tag": {"tag": "eu", "count": "estimate", "limit": 1},
        "estimate of a status": {"status": "completed", "count": "estimate", "limit": 1},
        "exact count of a rare tag": {
            "tag": f"customer-{(n * 7919) % CUSTOMERS}", "count": "exact", "limit": 1
        },
    }  # fmt: skip


def execution_searches(n: int, data: SearchData) -> _Searches:
    return {
        "no filter": {},
        "status failed": {"status": "failed"},
        "status completed": {"status": "completed"},
        "status pending": {"status": "pending"},
        "status running": {"status": "running"},
        "status skipped": {"status": "skipped"},
        "waiting for a worker": {"waiting_for": "worker"},
        "error": {"error": "ConnectionError"},
        "timed out": {"timed_out": True},
        "retrying": {"retrying": True},
        "blocked": {"blocked": True},
        "job": {"job": job_id(5 + 5 * ((n * 7919) % (data.jobs // 5 - 1)))},
        "task": {"task": TASKS[n % len(TASKS)]},
        "queue": {"queue": QUEUES[n % len(QUEUES)]},
        "worker": {"worker": worker_id(1 + n % 200), "until": data.now},
        "tag": {"tag": f"team-{n % TEAMS}"},
        "due in an hour": _hour_ago(n, data),
        "longer than 5 minutes": {"longer_than": timedelta(minutes=5)},
        "later than a minute": {"later_than": timedelta(minutes=1)},
        "failed, and task": {"status": "failed", "task": TASKS[n % len(TASKS)]},
        "failed, and queue": {"status": "failed", "queue": QUEUES[n % len(QUEUES)]},
        "failed, due in an hour": {"status": "failed", **_hour_ago(n, data)},
        "error, and task": {"error": "ConnectionError", "task": TASKS[n % len(TASKS)]},
    }


def _between(what: str, begin: Any, length: timedelta) -> dict[str, Any]:
    return {f"{what}_after": begin, f"{what}_before": begin + length}


def _hour_ago(n: int, data: SearchData) -> dict[str, Any]:
    begin = data.now - timedelta(hours=2 + n % 100)
    return {"since": begin, "until": begin + timedelta(hours=1)}


class _Timing(NamedTuple):
    p50: float
    p99: float
    found: float  # items on a page, on average

    def text(self) -> str:
        return f"p50 {self.p50:.1f} ms, p99 {self.p99:.1f} ms, {self.found:g} found"


async def run(progress: ProgressLine, plan: Plan) -> ScenarioResult:
    async with running_cluster() as cluster:
        data = await make_data(cluster, plan.jobs, plan.executions, progress)
        times = await index_all(cluster, progress)
        size = await cluster.database.fetchval("SELECT pg_total_relation_size('tickwork.job_term')")
        await let_rest(cluster, progress)
        await cluster.start_server()
        async with cluster.client() as client:
            jobs = await _measure(client.list_jobs, job_searches, data, plan, progress)
            counts = await _measure(client.list_jobs, count_searches, data, plan, progress)
            executions = await _measure(client.list_executions, execution_searches, data, plan, progress)
    worst = max(jobs, key=lambda name: jobs[name].p99)
    return ScenarioResult(
        scenario="search",
        value=round(jobs[worst].p99, 1),
        unit=f"ms at most for 99 of 100 searches among {plan.jobs:,} jobs ({worst})",
        goal=_GOAL,
        met=jobs[worst].p99 <= _GOAL,
        details={
            "jobs": data.jobs,
            "executions": data.executions,
            "indexed_per_second": round(times.indexed / times.indexing),
            "settled_per_second": round(times.settled / times.settling) if times.settled else 0,
            "index_bytes_per_job": round(size / data.jobs, 1),
            **{f"jobs, {name}": timing.text() for name, timing in jobs.items()},
            **{f"count, {name}": timing.text() for name, timing in counts.items()},
            **{f"executions, {name}": timing.text() for name, timing in executions.items()},
        },
        held_equal=f"{HELD_EQUAL}; pages of {_PAGE} over HTTP, one request at a time; data made inside the "
        "database, vacuumed and written out before",
        series={
            "p99 in ms, jobs": _ranked(jobs),
            "p99 in ms, executions": _ranked(executions),
        },
    )


async def _measure(
    ask: Callable[..., Awaitable[Any]],
    searches: Callable[[int, SearchData], _Searches],
    data: SearchData,
    plan: Plan,
    progress: ProgressLine,
) -> dict[str, _Timing]:
    """Each search by itself; the first request of each is not counted."""
    found = {}
    for name in searches(0, data):
        times, items = [], 0
        for n in range(plan.requests + 1):
            wanted = {"limit": _PAGE, **searches(n, data)[name]}
            begun = perf_counter()
            page = await ask(**wanted)
            if n:
                times.append((perf_counter() - begun) * 1000)
                items += len(page.items)
        times.sort()
        found[name] = _Timing(_at(times, 0.5), _at(times, 0.99), round(items / plan.requests, 1))
        progress.say(f"{name}: {found[name].text()}")
    return found


def _at(ranked: list[float], share: float) -> float:
    return ranked[min(int(len(ranked) * share), len(ranked) - 1)]


def _ranked(timings: dict[str, _Timing]) -> list[tuple[float, float]]:
    return [
        (float(rank), each) for rank, each in enumerate(sorted(timing.p99 for timing in timings.values()), 1)
    ]
