"""/backfills: run a job for due times in the past, at a limited pace."""

from tickwork.api.problem import CONFLICT
from tickwork.api.reply import Reply, json_reply
from tickwork.api.request_query import PageQuery
from tickwork.api.route import Call, NoQuery, Route, json_content
from tickwork.model.access import Scope
from tickwork.model.backfill import BackfillPlan, BackfillRequest, BackfillView
from tickwork.model.field_types import Page
from tickwork.model.public_ids import parse_backfill_id

_EXAMPLE = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-31T23:59:59Z", "max_active": 5}


async def backfill_job(call: Call[NoQuery, BackfillRequest]) -> Reply:
    """Run a job for due times in the past.

    Due times that already have an execution are left out; with the policy `failed`, executions that failed or were
    skipped run again. A dry run stores nothing and answers with the count.
    """
    job = await call.job()
    if call.body.dry_run:
        return json_reply(await call.node.backfills.plan(call.tenant_id, job, call.body))
    backfill = await call.node.backfills.start(call.tenant_id, job, call.body)
    return json_reply(backfill, 201, {"location": f"/v1/backfills/{backfill.id}"})


async def list_backfills(call: Call[PageQuery, None]) -> Reply:
    """List the backfills of a job, newest first."""
    job, query = await call.job(), call.query
    await call.node.jobs.get(
        call.tenant_id, job
    )  # 404 for an unknown job, an empty list for a job without backfills
    return json_reply(await call.node.backfills.list(call.tenant_id, job, query.limit, query.cursor))


async def get_backfill(call: Call[NoQuery, None]) -> Reply:
    """Show a backfill and its progress."""
    return json_reply(await call.node.backfills.get(call.tenant_id, call.id(parse_backfill_id)))


async def cancel_backfill(call: Call[NoQuery, None]) -> Reply:
    """Cancel a backfill: no more of its executions start; those that run continue."""
    return json_reply(await call.node.backfills.cancel(call.tenant_id, call.id(parse_backfill_id)))


ROUTES = (
    Route(
        "POST",
        "/v1/jobs/{id}/backfill",
        backfill_job,
        Scope.WRITE,
        BackfillView,
        201,
        body=json_content(BackfillRequest, example=_EXAMPLE),
        problems=(CONFLICT,),
        also=((200, BackfillPlan),),
    ),
    Route("GET", "/v1/jobs/{id}/backfills", list_backfills, Scope.READ, Page[BackfillView], query=PageQuery),
    Route("GET", "/v1/backfills/{id}", get_backfill, Scope.READ, BackfillView),
    Route(
        "POST", "/v1/backfills/{id}/cancel", cancel_backfill, Scope.WRITE, BackfillView, problems=(CONFLICT,)
    ),
)
