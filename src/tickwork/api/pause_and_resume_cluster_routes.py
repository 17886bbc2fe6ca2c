"""/cluster/pause, /cluster/resume and /cluster/resume-report: stop everything from firing, look at it, and go on."""

from typing import Annotated

import msgspec
from msgspec import Meta

from tickwork.api.problem import CONFLICT
from tickwork.api.reply import Reply, json_reply
from tickwork.api.route import Call, NoQuery, Route, json_content
from tickwork.model.access import DEFAULT_TENANT, Caller, Scope
from tickwork.model.cluster import PauseView
from tickwork.model.errors import NotAllowed
from tickwork.model.public_ids import key_id
from tickwork.model.resume_cluster import PauseRequest, Resumed, ResumeReport, ResumeRequest


class ReportQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    limit: Annotated[int, Meta(ge=1, le=500)] = 50


async def pause_cluster(call: Call[NoQuery, PauseRequest]) -> Reply:
    """Pause the cluster: on all nodes nothing fires, and nothing is handed over, until it is resumed.

    Nodes notice within a second. Attempts that workers have go on and are recorded, and the API answers as usual. The
    pause outlives the nodes. Repeating the request changes nothing. The key must be an admin key of the tenant
    `default`.
    """
    _check_operator(call.caller)
    await call.node.pause.pause(_author(call.caller), call.body.reason)
    return json_reply(call.node.pause.state.paused)


async def resume_cluster(call: Call[NoQuery, ResumeRequest]) -> Reply:
    """Resume a paused cluster, and choose what becomes of what was missed, interrupted or is overdue.

    `missed`: due times that passed run by each job's own policy (`catch_up`), or none of them does (`skip`). `running`:
    executions on workers without a lease are treated as each job says (`on_worker_lost`), or all of them run again
    (`retry`) or are cancelled (`cancel`). `overdue`: what is due and was not handed over runs (`run`), or is cancelled
    (`cancel`). If there is too much for one request, the answer says `"resumed": false`: repeat it. The key must be an
    admin key of the tenant `default`.
    """
    _check_operator(call.caller)
    return json_reply(await call.node.resumption.resume(call.body, _author(call.caller)))


async def get_resume_report(call: Call[ReportQuery, None]) -> Reply:
    """Show what there is to decide before the cluster is resumed.

    Jobs that were due meanwhile, executions that were running on workers without a lease, and executions that are due.
    What was created, changed or ended after the data of a restored database is not known. The key must be an admin key
    of the tenant `default`.
    """
    _check_operator(call.caller)
    return json_reply(await call.node.resumption.report(call.query.limit))


def _check_operator(caller: Caller) -> None:
    if caller.tenant != DEFAULT_TENANT:
        raise NotAllowed(f"the cluster serves every tenant; use a key of the tenant {DEFAULT_TENANT}")


def _author(caller: Caller) -> str:
    return (
        f"API key {key_id(caller.key_id)} ({caller.key_name})" if caller.key_name else key_id(caller.key_id)
    )


_PAUSE = json_content(PauseRequest, example={"reason": "the database is being moved"})
_RESUME = json_content(
    ResumeRequest, example={"missed": "skip", "running": "on_worker_lost", "overdue": "run"}
)

ROUTES = (
    Route(
        "POST", "/v1/cluster/pause", pause_cluster, Scope.ADMIN, PauseView, body=_PAUSE, keeps_answer=False
    ),
    Route(
        "POST",
        "/v1/cluster/resume",
        resume_cluster,
        Scope.ADMIN,
        Resumed,
        body=_RESUME,
        problems=(CONFLICT,),
        keeps_answer=False,  # safe to repeat, and more than one transaction
    ),
    Route(
        "GET", "/v1/cluster/resume-report", get_resume_report, Scope.ADMIN, ResumeReport, query=ReportQuery
    ),
)
