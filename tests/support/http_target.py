"""The target of HTTP jobs: `python -m support.http_target PORT`.

It writes down every call and answers as it is asked to. What is to finish later it accepts with 202 and reports after
that: once or twice, sometimes with the token of the attempt before, and not at all when it is killed meanwhile."""

import asyncio
import os
import sys
from contextlib import suppress

import aiohttp
from aiohttp import web

from support.attempt_ledger import Origin, written_down

_reporting: set[asyncio.Task[None]] = set()
_tokens: dict[tuple[str, int], str] = {}  # by execution and attempt
_TRIES = 100
_PAUSE = 0.25  # seconds before a report is sent again


class _Refusal(Exception):
    pass


async def _accept(request: web.Request) -> web.Response:
    origin = Origin(request.headers["webhook-id"], int(request.headers["tickwork-attempt"]))
    wanted = await request.json()
    task = asyncio.create_task(
        _report_later(
            origin,
            wanted,
            request.headers["tickwork-callback-url"],
            request.headers["tickwork-callback-token"],
        )
    )
    _reporting.add(task)
    task.add_done_callback(_reporting.discard)
    await asyncio.sleep(wanted.get("seconds", 0))
    return web.Response(status=202)


async def _report_later(origin: Origin, wanted: dict[str, float], url: str, token: str) -> None:
    """As the ledger says; once more in the name of the attempt before, if there was one."""
    _tokens[origin] = token
    stale = _tokens.get((origin.execution_id, origin.attempt - 1))
    fails = origin.attempt <= wanted.get("refusals", 0)
    with suppress(_Refusal), written_down("http later", origin):
        await asyncio.sleep(wanted["later"])
        if fails:
            raise _Refusal
    body = {"error": {"type": "Refused", "message": "not yet"}} if fails else {"result": os.getpid()}
    async with aiohttp.ClientSession() as session:
        for _ in range(int(wanted.get("times", 1))):
            await _send(session, f"{url}/{'fail' if fails else 'complete'}", token, body)
        if stale:
            await _send(session, f"{url}/complete", stale, {"result": "stale"})


async def _send(session: aiohttp.ClientSession, url: str, token: str, body: object) -> None:
    """Until somebody answers."""
    for _ in range(_TRIES):
        with suppress(aiohttp.ClientError, TimeoutError):
            headers = {"Authorization": f"Bearer {token}"}
            async with session.post(
                url, json=body, headers=headers, timeout=aiohttp.ClientTimeout(5)
            ) as answer:
                if answer.status < 500 and answer.status not in (408, 429):
                    return
        await asyncio.sleep(_PAUSE)


async def _answer(request: web.Request) -> web.Response:
    origin = Origin(request.headers["webhook-id"], int(request.headers["tickwork-attempt"]))
    wanted = await request.json()
    with suppress(_Refusal), written_down("http", origin):
        await asyncio.sleep(wanted.get("seconds", 0))
        if origin.attempt <= wanted.get("refusals", 0):
            raise _Refusal
        return web.json_response(os.getpid())
    return web.Response(status=503, headers={"Retry-After": "1"})


def main() -> None:
    application = web.Application()
    application.router.add_post("/", _answer)
    application.router.add_post("/later", _accept)
    web.run_app(application, host="127.0.0.1", port=int(sys.argv[1]), handler_cancellation=True)


if __name__ == "__main__":
    main()
