"""/pings: define what is expected of things that run elsewhere, look at them, and report for them with an API key."""

from typing import Annotated

import msgspec
from msgspec import Meta

from tickwork.access.trusted_proxies import RequestOrigin
from tickwork.api.problem import CONFLICT
from tickwork.api.reply import Reply, json_reply
from tickwork.api.request_query import Cursor, PageQuery, Text
from tickwork.api.route import Call, NoQuery, Route, json_content
from tickwork.model.access import Scope
from tickwork.model.field_types import Page
from tickwork.model.ping import (
    DeletedPing,
    PingFilter,
    PingReport,
    PingRequest,
    PingRunView,
    PingStatus,
    PingStatusName,
    PingView,
    Signal,
    SignalName,
)
from tickwork.ping.define_receive_and_watch_pings import SetPing

_MOST_WITH_LOGS = 100  # runs of a page


class PingQuery(PageQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    status: PingStatusName | None = None
    q: Annotated[Text, Meta(description="a part of the name")] | None = None

    @property
    def filter(self) -> PingFilter:
        return PingFilter(PingStatus(self.status) if self.status else None, self.q)


class PingHistoryQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    limit: Annotated[int, Meta(ge=1, le=_MOST_WITH_LOGS)] = 50
    cursor: Cursor | None = None


async def list_pings(call: Call[PingQuery, None]) -> Reply:
    """List pings by name, each with its latest runs."""
    query = call.query
    return json_reply(await call.node.pings.list(call.tenant_id, query.filter, query.limit, query.cursor))


async def get_ping(call: Call[NoQuery, None]) -> Reply:
    """Show a ping, with the log of the run in progress and the statistics of its latest 100 runs."""
    return json_reply(await call.node.pings.get(call.tenant_id, call.path["name"]))


async def set_ping(call: Call[NoQuery, PingRequest]) -> Reply:
    """Create a ping, or change one: something that runs elsewhere is expected by a schedule.

    A run that has not succeeded when its due time and then `grace` have passed is `missing`. A plain period such as
    `every 1h` counts from the run before. The answer to the creation has `url`, which holds the token of the ping:
    a GET or POST of it reports success; add `/start`, `/fail`, `/log` or an exit code for the others. It is not shown
    again. What is expected of an existing ping changes only with its schedule or its grace.
    """
    made = await call.node.pings.set(call.tenant_id, call.path["name"], call.body)
    return json_reply(_with_url(made, call.origin), 200 if made.token is None else 201)


async def delete_ping(call: Call[NoQuery, None]) -> Reply:
    """Delete a ping with its history. Its URL stops working."""
    await call.node.pings.delete(call.tenant_id, call.path["name"])
    return json_reply(DeletedPing(call.path["name"]))


async def renew_ping_token(call: Call[NoQuery, None]) -> Reply:
    """Give a ping another token, for example because its URL was lost. The URL before stops working."""
    made = await call.node.pings.new_token(call.tenant_id, call.path["name"])
    return json_reply(_with_url(made, call.origin), 201)


async def list_ping_history(call: Call[PingHistoryQuery, None]) -> Reply:
    """List the runs of a ping, latest first: what succeeded, failed and stayed away, with the end of the logs.

    The latest 10,000 runs are kept, for as long as history is, and the logs of the latest 200.
    """
    name, query = call.path["name"], call.query
    return json_reply(await call.node.pings.history(call.tenant_id, name, query.limit, query.cursor))


async def report_ping_start(call: Call[NoQuery, PingReport]) -> Reply:
    """Report that a run has started, so that its run time is known."""
    return await _report(call, "start")


async def report_ping_success(call: Call[NoQuery, PingReport]) -> Reply:
    """Report that a run has succeeded."""
    return await _report(call, "success")


async def report_ping_failure(call: Call[NoQuery, PingReport]) -> Reply:
    """Report that a run has failed."""
    return await _report(call, "fail")


async def report_ping_log(call: Call[NoQuery, PingReport]) -> Reply:
    """Add to the log of the run in progress. The last 10,000 characters of a run's log are kept."""
    return await _report(call, "log")


async def _report(call: Call[NoQuery, PingReport], name: SignalName) -> Reply:
    signal = Signal(name, call.body.log, call.body.exit_code)
    return json_reply(await call.node.pings.hear(call.tenant_id, call.path["name"], signal))


def _with_url(made: SetPing, origin: RequestOrigin) -> PingView:
    """The address of this server as the client knows it."""
    if made.token is None:
        return made.view
    url = f"{origin.scheme}://{origin.host}{origin.prefix}/ping/{made.token}"
    return msgspec.structs.replace(made.view, url=url)


_PING = json_content(
    PingRequest, example={"schedule": "0 2 * * *", "timezone": "Europe/Paris", "grace": "30m"}
)
_REPORT = json_content(PingReport, example={"log": "3 files copied"}, default=PingReport())

ROUTES = (
    Route("GET", "/v1/pings", list_pings, Scope.READ, Page[PingView], query=PingQuery),
    Route("GET", "/v1/pings/{name}", get_ping, Scope.READ, PingView),
    Route(
        "PUT",
        "/v1/pings/{name}",
        set_ping,
        Scope.WRITE,
        PingView,
        body=_PING,
        also=((201, PingView),),
        problems=(CONFLICT,),
    ),
    Route("DELETE", "/v1/pings/{name}", delete_ping, Scope.WRITE, DeletedPing),
    Route(
        "POST",
        "/v1/pings/{name}/token",
        renew_ping_token,
        Scope.WRITE,
        PingView,
        201,
        keeps_answer=False,  # it holds a secret
    ),
    Route(
        "GET",
        "/v1/pings/{name}/history",
        list_ping_history,
        Scope.READ,
        Page[PingRunView],
        query=PingHistoryQuery,
    ),
    Route("POST", "/v1/pings/{name}/start", report_ping_start, Scope.WRITE, PingView, body=_REPORT),
    Route("POST", "/v1/pings/{name}/success", report_ping_success, Scope.WRITE, PingView, body=_REPORT),
    Route("POST", "/v1/pings/{name}/fail", report_ping_failure, Scope.WRITE, PingView, body=_REPORT),
    Route("POST", "/v1/pings/{name}/log", report_ping_log, Scope.WRITE, PingView, body=_REPORT),
)
