"""/workers and /tasks: list and drain workers, list the tasks that they offer. REST workers register, send heartbeats
and claim executions here."""

from collections.abc import Iterator

import msgspec

from tickwork.api.problem import CONFLICT, LEASE_GONE
from tickwork.api.reply import TSV, Reply, TsvLine, json_reply, tsv_reply, wants_tsv
from tickwork.api.request_query import PageQuery
from tickwork.api.route import Call, NoQuery, Route, json_content
from tickwork.model.access import Scope
from tickwork.model.field_types import Page
from tickwork.model.ids import parse_worker_id
from tickwork.model.rest_worker import (
    ClaimedWork,
    ClaimRequest,
    Heartbeat,
    RegisteredWorker,
    WorkerRequest,
)
from tickwork.model.task import TaskView
from tickwork.model.worker import WorkerView


async def list_workers(call: Call[PageQuery, None]) -> Reply:
    """List workers."""
    return json_reply(await call.node.workers.list(call.tenant_id, call.query.limit, call.query.cursor))


async def get_worker(call: Call[NoQuery, None]) -> Reply:
    """Show a worker."""
    return json_reply(await call.node.workers.get(call.tenant_id, call.id(parse_worker_id)))


async def register_worker(call: Call[NoQuery, WorkerRequest]) -> Reply:
    """Register a REST worker.

    As `text/tab-separated-values`: `worker`, its id, the lease in seconds, and the seconds between heartbeats.
    """
    worker = await call.node.rest_workers.register(call.caller, call.body)
    if wants_tsv(call.headers):
        return tsv_reply([("worker", worker.id, worker.lease_seconds, worker.heartbeat_seconds)], 201)
    return json_reply(worker, 201)


async def heartbeat_worker(call: Call[NoQuery, None]) -> Reply:
    """Renew the lease of a worker, and learn which attempts it must stop.

    An attempt is listed until its end is reported with `complete` or `fail`. As `text/tab-separated-values`: `lease`
    and its seconds; `drain` if the worker must drain; for each attempt to stop, `stop`, the id of the execution, the
    number of the attempt and the reason.
    """
    heartbeat = await call.node.rest_workers.heartbeat(call.caller, call.id(parse_worker_id))
    return tsv_reply(_heartbeat_lines(heartbeat)) if wants_tsv(call.headers) else json_reply(heartbeat)


async def claim_executions(call: Call[NoQuery, ClaimRequest]) -> Reply:
    """Claim executions for a worker, waiting up to `wait` seconds for them.

    Attempts that the worker has but has not reported as started are returned first, so that a claim whose answer was
    lost can be repeated; new ones only if there are none of those. A waiting claim keeps the lease. As
    `text/tab-separated-values`: `drain` if the worker must drain; for each execution, `run`, its id, the number of the
    attempt, the task, the timeout in seconds, the scheduled time, the deadline and the payload as JSON.
    """
    work = await call.node.rest_workers.claim(call.caller, call.id(parse_worker_id), call.body)
    return tsv_reply(_claim_lines(work)) if wants_tsv(call.headers) else json_reply(work)


async def drain_worker(call: Call[NoQuery, None]) -> Reply:
    """Drain a worker: it takes no new executions, finishes those that it has, and leaves."""
    return json_reply(await call.node.workers.drain(call.caller, call.id(parse_worker_id)))


async def list_tasks(call: Call[NoQuery, None]) -> Reply:
    """List tasks with their parameters and the workers that offer them."""
    return json_reply(Page(await call.node.tasks.list(call.tenant_id)))


def _heartbeat_lines(heartbeat: Heartbeat) -> Iterator[TsvLine]:
    yield "lease", heartbeat.lease_seconds
    if heartbeat.drain:
        yield ("drain",)
    for stop in heartbeat.stop:
        yield "stop", stop.id, stop.attempt, stop.reason


def _claim_lines(work: ClaimedWork) -> Iterator[TsvLine]:
    if work.drain:
        yield ("drain",)
    for run in work.items:
        times = (f"{at:%Y-%m-%dT%H:%M:%S.%fZ}" for at in (run.scheduled_for, run.deadline))
        payload = msgspec.json.format(bytes(run.payload), indent=-1).decode()
        yield "run", run.id, run.attempt, run.task, run.timeout, *times, payload


_REGISTER = json_content(
    WorkerRequest,
    example={
        "name": "mail-1",
        "tasks": ["send_mail"],
        "queues": ["mail"],
        "slots": 2,
        "labels": {"region": "eu"},
    },
)
_CLAIM = json_content(ClaimRequest, example={"max": 2, "wait": 20}, default=ClaimRequest())

ROUTES = (
    Route("GET", "/v1/workers", list_workers, Scope.READ, Page[WorkerView], query=PageQuery),
    Route("GET", "/v1/workers/{id}", get_worker, Scope.READ, WorkerView),
    Route(
        "POST",
        "/v1/workers",
        register_worker,
        Scope.WORKER,
        RegisteredWorker,
        status=201,
        body=_REGISTER,
        also_media=(TSV,),
        by_session=False,
    ),
    Route(
        "POST",
        "/v1/workers/{id}/heartbeat",
        heartbeat_worker,
        Scope.WORKER,
        Heartbeat,
        problems=(CONFLICT, LEASE_GONE),
        also_media=(TSV,),
        by_session=False,
        keeps_answer=False,
    ),
    Route(
        "POST",
        "/v1/workers/{id}/claim",
        claim_executions,
        Scope.WORKER,
        ClaimedWork,
        body=_CLAIM,
        problems=(CONFLICT, LEASE_GONE),
        also_media=(TSV,),
        by_session=False,
        waits=True,
        keeps_answer=False,
    ),
    Route(
        "POST",
        "/v1/workers/{id}/drain",
        drain_worker,
        Scope.WORKER,
        WorkerView,
        problems=(CONFLICT,),
        keeps_answer=False,
    ),
    Route("GET", "/v1/tasks", list_tasks, Scope.READ, Page[TaskView]),
)
