"""A worker that speaks plain REST, as the guide for workers in any language says: `python -m support.rest_ledger_worker
URL...`. It writes its attempts into the ledger, asks another server when one does not answer, and stops everything when
its own lease has run out."""

import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import cycle
from time import monotonic
from typing import Any

import httpx2

from support.attempt_ledger import Origin, written_down

TASK = "rest"
_SLOTS = 40
_MARGIN = 3.0  # seconds before the end of the lease
_ANSWERS_WITHIN = 5.0
_PAUSE = 0.25
_BUSY = {408, 429, 500, 502, 503, 504}
_GONE = 410


class _Ended(Exception):
    """The lease is over, or nobody knows this worker any more."""


class RestLedgerWorker:
    def __init__(self, urls: Sequence[str], key: str) -> None:
        self._urls = cycle(urls)
        self._http = httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {key}"}, timeout=_ANSWERS_WITHIN, trust_env=False
        )
        self._id = ""
        self._deadline = 0.0

    async def work(self) -> None:
        """For ever, as one worker after the other."""
        while True:
            self._deadline = float("inf")
            sent = monotonic()
            answer = await self._ask("/v1/workers", {"name": "rest", "tasks": [TASK], "slots": _SLOTS})
            self._id, self._deadline = answer.json()["id"], sent + answer.json()["lease_seconds"] - _MARGIN
            sys.stdout.write("registered\n")
            sys.stdout.flush()
            with suppress(ExceptionGroup):
                async with asyncio.TaskGroup() as all_it_does:
                    all_it_does.create_task(self._beat())
                    all_it_does.create_task(self._fence())
                    all_it_does.create_task(self._claim(all_it_does))

    async def _beat(self) -> None:
        while True:
            sent = monotonic()
            answer = await self._ask(f"/v1/workers/{self._id}/heartbeat", {})
            if answer.status_code == _GONE:
                raise _Ended
            self._deadline = sent + answer.json()["lease_seconds"] - _MARGIN
            await asyncio.sleep(3.0)

    async def _fence(self) -> None:
        while (left := self._deadline - monotonic()) > 0:  # noqa: ASYNC110 (heartbeats move it)
            await asyncio.sleep(left)
        raise _Ended

    async def _claim(self, all_it_does: asyncio.TaskGroup) -> None:
        """Each attempt is started before the next claim."""
        running: set[asyncio.Task[None]] = set()
        while True:
            running = {task for task in running if not task.done()}
            if len(running) == _SLOTS:
                await asyncio.sleep(_PAUSE)
                continue
            body = {"max": _SLOTS - len(running), "wait": 1}
            answer = await self._ask(f"/v1/workers/{self._id}/claim", body)
            if answer.status_code == _GONE:
                raise _Ended
            for run in answer.json()["items"]:
                started = await self._report(run, "start", {})
                if started.is_success:
                    running.add(all_it_does.create_task(self._run(run)))

    async def _run(self, run: dict[str, Any]) -> None:
        payload = run["payload"]
        if monotonic() > self._deadline:
            return
        fails = run["attempt"] <= payload.get("failures", 0)
        with suppress(RuntimeError), written_down(TASK, Origin(run["id"], run["attempt"])):
            await asyncio.sleep(payload["seconds"])
            if fails:
                raise RuntimeError
        if fails:
            await self._report(run, "fail", {"error": {"type": "RuntimeError", "message": "not yet"}})
        else:
            await self._report(run, "complete", {"result": os.getpid()})

    async def _report(self, run: dict[str, Any], word: str, body: dict[str, Any]) -> httpx2.Response:
        return await self._ask(f"/v1/executions/{run['id']}/{word}", {"attempt": run["attempt"], **body})

    async def _ask(self, path: str, body: dict[str, Any]) -> httpx2.Response:
        """Until a server answers, as long as the lease allows."""
        while monotonic() < self._deadline:
            with suppress(httpx2.TransportError):
                answer = await self._http.post(next(self._urls) + path, json=body)
                if answer.status_code not in _BUSY:
                    return answer
            await asyncio.sleep(_PAUSE)
        raise _Ended


if __name__ == "__main__":
    asyncio.run(RestLedgerWorker(sys.argv[1:], os.environ["TICKWORK_API_KEY"]).work())
