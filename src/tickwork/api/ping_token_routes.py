"""/ping/TOKEN: the URL of a ping. Whoever has it reports for that ping, by GET, HEAD or POST, and can do nothing else.

The path has no version: crontabs stay for decades. An answer has no content, so that cron sends no mail about it.
"""

import re
from math import ceil

from tickwork.api.problem import NOT_FOUND, TOO_MANY_SIGNALS, UNAVAILABLE, Refusal
from tickwork.api.reply import BYTES, PLAIN, Reply
from tickwork.api.request_body import RawBody
from tickwork.api.route import Call, Content, Route
from tickwork.model.json_limits import NUL
from tickwork.model.ping import MOST_LOG, Signal, SignalName
from tickwork.ping.define_receive_and_watch_pings import LONGEST_TOKEN

_SIGNALS: dict[str, SignalName] = {"start": "start", "success": "success", "fail": "fail", "log": "log"}
_EXIT_CODE = re.compile(r"[0-9]{1,3}")
_LARGEST_EXIT_CODE = 255
_LONGEST_CHARACTER = 4  # bytes in UTF-8


async def ping_by_url(call: Call[None, None]) -> Reply:
    """Report by its URL that a run of a ping has succeeded."""
    return await _take(call, "success", "")


async def ping_by_url_with_log(call: Call[None, str]) -> Reply:
    """Report by its URL that a run of a ping has succeeded, with its log as the body.

    The body may be of any media type and have up to 1 MiB; its last 10,000 characters are kept.
    """
    return await _take(call, "success", call.body)


async def signal_by_url(call: Call[None, None]) -> Reply:
    """Report by its URL that a run of a ping has started, succeeded or failed.

    `signal` is `start`, `success`, `fail`, or the exit code of a program: 0 is success, any other up to 255 a failure.
    """
    return await _take(call, call.path["signal"], "")


async def signal_by_url_with_log(call: Call[None, str]) -> Reply:
    """Report by its URL that a run of a ping has started, succeeded or failed, or just its log, which is the body.

    `signal` is `start`, `success`, `fail`, `log`, or the exit code of a program. The body may be of any media type and
    have up to 1 MiB; the last 10,000 characters of a run's log are kept.
    """
    return await _take(call, call.path["signal"], call.body)


async def _take(call: Call[None, str] | Call[None, None], name: str, log: str) -> Reply:
    token, limit = call.path["token"][: LONGEST_TOKEN + 1], call.node.pings.limit
    signal = _signal(name, log)
    if wait := limit.wait(token):
        raise Refusal(
            TOO_MANY_SIGNALS,
            "this ping has reported too often within a minute",
            headers={"retry-after": str(ceil(wait))},
        )
    limit.count(token)
    if not await call.node.pings.hear_by_token(token, signal):
        raise Refusal(
            NOT_FOUND, "there is no ping with this URL; it was deleted, or has another token by now"
        )
    return Reply(200, b"", {"content-type": f"{PLAIN}; charset=utf-8"})


def _signal(name: str, log: str) -> Signal:
    if name in _SIGNALS:
        return Signal(_SIGNALS[name], log)
    if not _EXIT_CODE.fullmatch(name) or int(name) > _LARGEST_EXIT_CODE:
        raise Refusal(
            NOT_FOUND, "the URL of a ping ends in start, success, fail, log, an exit code, or its token"
        )
    return Signal("fail" if int(name) else "success", log, int(name))


def _read_log(raw: RawBody, _media: str) -> str:
    """The end of it, whatever it is: a log may hold anything."""
    end = bytes(raw[-MOST_LOG * _LONGEST_CHARACTER :])
    return end.decode(errors="replace").replace(NUL, "")[-MOST_LOG:]


_LOG = Content(str, _read_log, (BYTES,), default="", is_any_media=True)
_PROBLEMS = (NOT_FOUND, TOO_MANY_SIGNALS, UNAVAILABLE)

ROUTES = (
    Route("GET", "/ping/{token}", ping_by_url, None, None, query=None, media=PLAIN, problems=_PROBLEMS),
    Route(
        "POST",
        "/ping/{token}",
        ping_by_url_with_log,
        None,
        None,
        query=None,
        body=_LOG,
        media=PLAIN,
        problems=_PROBLEMS,
        keeps_answer=False,  # keys of one token could meet those of another
    ),
    Route(
        "GET",
        "/ping/{token}/{signal}",
        signal_by_url,
        None,
        None,
        query=None,
        media=PLAIN,
        problems=_PROBLEMS,
    ),
    Route(
        "POST",
        "/ping/{token}/{signal}",
        signal_by_url_with_log,
        None,
        None,
        query=None,
        body=_LOG,
        media=PLAIN,
        problems=_PROBLEMS,
        keeps_answer=False,  # likewise
    ),
)
