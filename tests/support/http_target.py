"""The target of HTTP jobs: `python -m support.http_target PORT`.

It writes down every call and answers as it is asked to."""

import asyncio
import os
import sys
from contextlib import suppress

from aiohttp import web

from support.attempt_ledger import Origin, written_down


class _Refusal(Exception):
    pass


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
    web.run_app(application, host="127.0.0.1", port=int(sys.argv[1]), handler_cancellation=True)


if __name__ == "__main__":
    main()
