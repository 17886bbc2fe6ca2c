"""The protocol of REST workers: they register, send heartbeats, claim executions, and report on their attempts."""

from collections.abc import Iterator
from typing import Any

import msgspec

from tickwork.api.problem import CONFLICT, LEASE_GONE, STALE_ATTEMPT
from tickwork.api.reply import TSV, Reply, TsvLine, json_reply, tsv_reply, wants_tsv
from tickwork.api.route import Call, Content, Handler, NoQuery, Route, json_content
from tickwork.model.access import Scope
from tickwork.model.checkpoint import CheckpointView
from tickwork.model.public_ids import parse_execution_id, parse_worker_id
from tickwork.model.rest_worker import (
    CheckpointReport,
    ClaimedWork,
    ClaimRequest,
    CompleteReport,
    FailReport,
    Heartbeat,
    HeartbeatReport,
    ProgressReport,
    RecallRequest,
    RegisteredWorker,
    ReportedAttempt,
    StartReport,
    WorkerRequest,
)


async def register_worker(call: Call[NoQuery, WorkerRequest]) -> Reply:
    """Register a REST worker.

    As `text/tab-separated-values`: `worker`, its id, the lease in seconds, and the seconds between heartbeats.
    """
    worker = await call.node.rest_workers.register(call.caller, call.body)
    if wants_tsv(call.headers):
        return tsv_reply([("worker", worker.id, worker.lease_seconds, worker.heartbeat_seconds)], 201)
    return json_reply(worker, 201)


async def heartbeat_worker(call: Call[NoQuery, HeartbeatReport]) -> Reply:
    """Renew the lease of a worker, and learn which attempts it must stop.

    The body may be empty. `load` is what the worker measured of its machine; `labels` and `resources` replace those
    that it had, and its next claim gets what fits them. An attempt is listed until its end is reported with `complete`
    or `fail`. As `text/tab-separated-values`: `lease` and its seconds; `drain` if the worker must drain; for each
    attempt to stop, `stop`, the id of the execution, the number of the attempt and the reason.
    """
    worker = call.id(parse_worker_id)
    heartbeat = await call.node.rest_workers.heartbeat(call.caller, worker, call.body)
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


async def start_execution(call: Call[NoQuery, StartReport]) -> Reply:
    """Report that an attempt has started. Until then, claiming returns it again."""
    return json_reply(await call.node.reports.start(call.caller, *call.id(parse_execution_id), call.body))


async def report_progress(call: Call[NoQuery, ProgressReport]) -> Reply:
    """Report the progress of an attempt and what it logged.

    Lines are numbered within their attempt, beginning with `first_line`, so that repeated lines are stored once.
    """
    return json_reply(await call.node.reports.progress(call.caller, *call.id(parse_execution_id), call.body))


async def store_checkpoint(call: Call[NoQuery, CheckpointReport]) -> Reply:
    """Store steps that are done, a new state, or both, for the attempts after this one.

    A step is stored once: repeating it changes nothing, and another result under its name is refused. A state replaces
    those of the attempt with a lower `number`.
    """
    return json_reply(
        await call.node.reports.checkpoint(call.caller, *call.id(parse_execution_id), call.body)
    )


async def recall_checkpoint(call: Call[NoQuery, RecallRequest]) -> Reply:
    """Show a worker what the attempts of an execution have stored, so that its attempt goes on from there.

    Nothing is stored before the first attempt, so only a later one needs this.
    """
    return json_reply(await call.node.reports.recall(call.caller, *call.id(parse_execution_id), call.body))


async def complete_execution(call: Call[NoQuery, CompleteReport]) -> Reply:
    """Report that an attempt completed, with its result."""
    return json_reply(await call.node.reports.complete(call.caller, *call.id(parse_execution_id), call.body))


async def fail_execution(call: Call[NoQuery, FailReport]) -> Reply:
    """Report that an attempt failed. It is retried unless `retry` is false or all attempts are used up."""
    return json_reply(await call.node.reports.fail(call.caller, *call.id(parse_execution_id), call.body))


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


def _route(word: str, handler: Handler, body: Content, response: Any = ReportedAttempt) -> Route:
    return Route(
        "POST",
        f"/v1/executions/{{id}}/{word}",
        handler,
        Scope.WORKER,
        response,
        body=body,
        problems=(STALE_ATTEMPT,),
        by_session=False,
        keeps_answer=False,
    )


_PROGRESS = {"attempt": 1, "fraction": 0.4, "message": "4 of 10", "log": ["sent 4"], "first_line": 0}
_CHECKPOINT = {
    "attempt": 2,
    "steps": [{"name": "charge", "result": {"receipt": 17}, "took": 0.8}],
    "state": {"page": 4},
    "number": 1,
}
_FAIL = {"attempt": 1, "error": {"type": "SmtpError", "message": "450 mailbox busy"}, "retry_after": "30s"}
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
_HEARTBEAT = json_content(
    HeartbeatReport,
    example={"load": {"cpu": 0.4, "disk_used": 90_000_000_000}, "resources": {"storage": "10Gi"}},
    default=HeartbeatReport(),
)
_CLAIM = json_content(ClaimRequest, example={"max": 2, "wait": 20}, default=ClaimRequest())

ROUTES = (
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
        body=_HEARTBEAT,
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
    _route("start", start_execution, json_content(StartReport, example={"attempt": 1})),
    _route("progress", report_progress, json_content(ProgressReport, example=_PROGRESS)),
    _route("checkpoint", store_checkpoint, json_content(CheckpointReport, example=_CHECKPOINT)),
    _route("recall", recall_checkpoint, json_content(RecallRequest, example={"attempt": 2}), CheckpointView),
    _route(
        "complete",
        complete_execution,
        json_content(CompleteReport, example={"attempt": 1, "result": {"sent": 10}}),
    ),
    _route("fail", fail_execution, json_content(FailReport, example=_FAIL)),
)
