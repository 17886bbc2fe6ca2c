"""Single creates, gets and lists per second on a database that has been in use."""

from datetime import datetime
from typing import Annotated
from urllib.parse import urlencode

from msgspec import Meta

from tickwork.bench import scenario_options as base
from tickwork.bench.aged_database import age
from tickwork.bench.api_load import Answers, Ask, ask, post
from tickwork.bench.bench_cluster import HELD_EQUAL, stage
from tickwork.bench.progress import Show
from tickwork.bench.result import Figure
from tickwork.bench.scenario_options import Many
from tickwork.model.ids import execution_id, parse_job_id

_GOAL = 3000
_PAGE_GOAL = 50  # ms, 99 of 100
_PAGE = 100
_ASKS = 2000  # different requests of each kind
_CREATES = "creates"
_NAME = "single"
_STORED = f"SELECT count(*) FROM tickwork.job WHERE name = '{_NAME}'"  # noqa: S608 (a constant)


class Plan(base.Plan, frozen=True, kw_only=True):
    seconds: Annotated[float, Meta(description="How long to send requests of each kind.", gt=0)] = 15.0
    executions: Annotated[Many, Meta(description="How many executions the history holds.")] = 10_000_000
    in_flight: Annotated[Many, Meta(description="Creates and gets on their way at once.")] = 32
    pages_in_flight: Annotated[Many, Meta(description="Lists on their way at once.")] = 2


QUICK = Plan(executions=5_000, warm_up=0.2, seconds=0.5)


async def run(show: Show, plan: Plan) -> Figure:
    async with stage() as on:
        await on.start()
        jobs, times = await age(on, plan.executions, show.counter("executions of the past", plan.executions))
        created, found = 0, {}
        for name, asks in _requests(jobs, times).items():
            show.say(name.replace("_", " "))
            in_flight = plan.pages_in_flight if name.startswith("list") else plan.in_flight
            warm_up = await ask(on, asks, in_flight=in_flight, seconds=plan.warm_up)
            found[name] = await ask(on, asks, in_flight=in_flight, seconds=plan.seconds)
            if name == _CREATES:
                created = warm_up.answered + found[name].answered
        stored = await on.database.fetchval(_STORED)
    return _figure(plan, found, created, stored)


def _requests(jobs: list[str], times: list[datetime]) -> dict[str, list[Ask]]:
    far = {"at": "2099-01-01T00:00:00Z"}
    fields = {"task": "bench.count", "schedule": far, "name": _NAME}
    executions = [execution_id(parse_job_id(job), at) for job, at in _some(jobs, times)]
    moments = [{"limit": _PAGE, "until": at.isoformat()} for at in times]
    return {
        _CREATES: post("/v1/jobs", ({**fields, "payload": {"n": number}} for number in range(_ASKS))),
        "gets_of_jobs": [Ask(f"/v1/jobs/{job}") for job in jobs],
        "gets_of_executions": [Ask(f"/v1/executions/{execution}") for execution in executions],
        "lists_of_jobs": [Ask(f"/v1/jobs?limit={_PAGE}"), Ask(f"/v1/jobs?limit={_PAGE}&task=bench.count")],
        "lists_of_executions": [Ask(f"/v1/executions?{urlencode(moment)}") for moment in moments],
        "lists_of_a_jobs_history": [Ask(f"/v1/jobs/{job}/executions?limit={_PAGE}") for job in jobs],
    }


def _some(jobs: list[str], times: list[datetime]) -> list[tuple[str, datetime]]:
    """Jobs and times side by side, so that neighbours are far from one another."""
    return [(jobs[number % len(jobs)], times[number * 37 % len(times)]) for number in range(_ASKS)]


def _figure(plan: Plan, found: dict[str, Answers], created: int, stored: int) -> Figure:
    creates = found[_CREATES]
    pages = max(answers.summary()["p99_ms"] for name, answers in found.items() if name.startswith("list"))
    refused = sum(answers.refused for answers in found.values())
    return Figure(
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
