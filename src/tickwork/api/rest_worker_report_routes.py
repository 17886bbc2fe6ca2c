"""/executions/{id}/start, /progress, /complete, /fail: how REST workers report on their attempts."""

from tickwork.api.problem import STALE_ATTEMPT
from tickwork.api.reply import Reply, json_reply
from tickwork.api.route import Call, Content, Handler, NoQuery, Route, json_content
from tickwork.model.access import Scope
from tickwork.model.ids import parse_execution_id
from tickwork.model.rest_worker import (
    CompleteReport,
    FailReport,
    ProgressReport,
    ReportedAttempt,
    StartReport,
)


async def start_execution(call: Call[NoQuery, StartReport]) -> Reply:
    """Report that an attempt has started. Until then, claiming returns it again."""
    return json_reply(await call.node.reports.start(call.caller, *call.id(parse_execution_id), call.body))


async def report_progress(call: Call[NoQuery, ProgressReport]) -> Reply:
    """Report the progress of an attempt and what it logged.

    Lines are numbered within their attempt, beginning with `first_line`, so that repeated lines are stored once.
    """
    return json_reply(await call.node.reports.progress(call.caller, *call.id(parse_execution_id), call.body))


async def complete_execution(call: Call[NoQuery, CompleteReport]) -> Reply:
    """Report that an attempt completed, with its result."""
    return json_reply(await call.node.reports.complete(call.caller, *call.id(parse_execution_id), call.body))


async def fail_execution(call: Call[NoQuery, FailReport]) -> Reply:
    """Report that an attempt failed. It is retried unless `retry` is false or all attempts are used up."""
    return json_reply(await call.node.reports.fail(call.caller, *call.id(parse_execution_id), call.body))


def _route(word: str, handler: Handler, body: Content) -> Route:
    return Route(
        "POST",
        f"/v1/executions/{{id}}/{word}",
        handler,
        Scope.WORKER,
        ReportedAttempt,
        body=body,
        problems=(STALE_ATTEMPT,),
        by_session=False,
        keeps_answer=False,
    )


_PROGRESS = {"attempt": 1, "fraction": 0.4, "message": "4 of 10", "log": ["sent 4"], "first_line": 0}
_FAIL = {"attempt": 1, "error": {"type": "SmtpError", "message": "450 mailbox busy"}, "retry_after": "30s"}

ROUTES = (
    _route("start", start_execution, json_content(StartReport, example={"attempt": 1})),
    _route("progress", report_progress, json_content(ProgressReport, example=_PROGRESS)),
    _route(
        "complete",
        complete_execution,
        json_content(CompleteReport, example={"attempt": 1, "result": {"sent": 10}}),
    ),
    _route("fail", fail_execution, json_content(FailReport, example=_FAIL)),
)
