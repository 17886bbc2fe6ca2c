"""Clients that ask without waiting for each other's answers, repeat what got none, and write down what they heard."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Literal

import httpx2
import msgspec

from support.cluster import KEY
from support.graph_model import graph_by_chance, payload_of, request_of
from support.job_load import LIMIT

_ANSWER_WITHIN = 5.0
_PAUSE = 0.25  # seconds before it is sent again, to another server
_TRIES = 400
_BUSY = {408, 429, 502, 503, 504}
_IN_FLIGHT = 409
_NEVER = "0 0 29 2 *"
_LARGEST_GRAPH = 6
_ONE_OFFS: tuple[dict[str, Any], ...] = (
    {"task": "quick"},
    {"task": "slow", "payload": {"seconds": 1.0}},
    {"task": "threaded", "payload": {"seconds": 0.2}},
    {"task": "in_process", "payload": {"seconds": 0.1}},
    {"task": "failing", "payload": {"times": 1}},
    {"task": "snoozing", "payload": {"times": 2}},
    {"task": "hopeless"},
    {"task": "dying", "payload": {"times": 1}},
    {"task": "slow", "payload": {"seconds": 20.0}},  # longer than a lease
    {"task": "quick", "limits": [LIMIT]},
    {"task": "slow", "payload": {"seconds": 1.0}, "limits": [LIMIT]},
    {"task": "storing_steps", "payload": {"steps": 3, "seconds": 0.3}},
    {"task": "storing_steps", "payload": {"steps": 12, "seconds": 1.0}},
)


class Asked(msgspec.Struct):
    """What a client asked for and what it heard."""

    kind: Literal["create", "run", "pause", "resume", "cancel", "cancel_job", "backfill"]
    idempotency_key: str
    subject: str  # id of the job or execution, or the key of the job that is made
    asked_at: datetime
    answered_at: datetime | None = None
    status: int | None = None  # None: nobody answered
    made: str | None = None  # id of the job or execution in the answer
    sent: int = 0  # times

    @property
    def answer(self) -> Literal["ok", "refused", "unknown"]:
        if self.status is None:
            return "unknown"
        return "ok" if self.status < 300 else "refused"


class Traffic:
    def __init__(
        self, urls: Sequence[str], target_url: str, seed: int, more: Sequence[dict[str, Any]] = ()
    ) -> None:
        """`more`: requests that not every installation can run."""
        self._one_off_requests = (*_ONE_OFFS, *more)
        self.asked: list[Asked] = []
        self._urls = list(urls)
        self._target_url = target_url
        self._random = Random(seed)  # noqa: S311 (to be repeated, not to be kept secret)
        self._http = httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {KEY}"},
            timeout=_ANSWER_WITHIN,
            trust_env=False,
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=0),
        )
        self._open: set[asyncio.Task[Any]] = set()
        self._ending = asyncio.Event()
        self._standing: list[str] = []
        self._manual: list[str] = []

    async def create(self, request: dict[str, Any]) -> Asked:
        asked = self._begin("create", request["key"])
        await self._send(asked, "POST", "/v1/jobs", request)
        return asked

    async def create_graph(self) -> None:
        """Jobs that depend on each other, in one request."""
        graph = graph_by_chance(self._random, most=_LARGEST_GRAPH)
        number = self._random.getrandbits(40)
        names = [f"@n{place}" for place in range(len(graph))]
        requests = [
            request_of(
                node, place, names, key=f"graph-{number}-{place}", task="graph step",
                payload={**payload_of(node), "seconds": self._random.choice((0.0, 0.3))},
            )
            for place, node in enumerate(graph)
        ]  # fmt: skip
        asked = self._begin("create", ",".join(str(request.key) for request in requests))
        await self._send(asked, "POST", "/v1/jobs/batch", msgspec.to_builtins(requests))

    async def begin(self, jobs: Sequence[dict[str, Any]], pausable: Sequence[dict[str, Any]]) -> None:
        """Make the jobs that are there throughout, then keep asking in the background."""
        manual = [
            {"key": "manual-quick", "task": "quick", "schedule": {"cron": _NEVER}},
            {"key": "manual-slow", "task": "slow", "payload": {"seconds": 5.0}, "schedule": {"cron": _NEVER}},
        ]
        made = await asyncio.gather(*(self.create(job) for job in [*jobs, *pausable, *manual]))
        ids = [each.made or "" for each in made]
        self._standing, self._manual = ids, ids[-len(manual) :]
        self._start(self._one_offs())
        self._start(self._runs())
        self._start(self._backfills(ids[: len(jobs)]))
        for job in ids[len(jobs) : -len(manual)]:
            self._start(self._pauses(job))

    async def poison(self) -> None:
        """A job that takes down whoever runs it."""
        await self.create({"key": f"poison-{self._random.getrandbits(40)}", "task": "poison"})

    async def fill_limit(self) -> None:
        """More than may run at once."""
        number = self._random.getrandbits(40)
        job = {"task": "slow", "payload": {"seconds": 1.0}, "limits": [LIMIT]}
        await asyncio.gather(*(self.create({"key": f"full-{number}-{each}", **job}) for each in range(12)))

    async def end(self) -> None:
        """Ask for nothing more, until all that was asked is answered; then end what would go on for ever."""
        self._ending.set()
        while self._open:
            await asyncio.gather(*self._open)
        await asyncio.gather(*(self._cancel_job(job) for job in self._standing))
        await self._http.aclose()

    async def _one_offs(self) -> None:
        while await self._pause(0.1, 0.5):
            number = self._random.getrandbits(40)
            request = {"key": f"once-{number}", **self._random.choice(self._one_off_requests)}
            if self._random.random() < 0.25:
                call = {"url": self._target_url, "method": "POST"}
                request = {"key": f"http-{number}", "http": call, "payload": self._http_payload()}
            if self._random.random() < 0.1:
                self._start(self.create_graph())
            if self._random.random() < 0.15:
                request = {"key": f"later-{number}", **self._called_back()}
            if self._random.random() < 0.5:
                due = datetime.now(UTC) + timedelta(seconds=self._random.uniform(0.5, 4))
                request["schedule"] = {"at": due.isoformat()}
            self._start(self.create(request))

    def _called_back(self) -> dict[str, Any]:
        """A job whose target reports later: at once, in time, or after its timeout, and once or twice."""
        choose = self._random.choice
        return {
            "http": {"url": f"{self._target_url}later", "method": "POST", "completion": "callback"},
            "payload": {
                "later": choose([0, 0.3, 2, 12]),
                "times": choose([1, 2]),
                "refusals": choose([0, 0, 1]),
            },
            "timeout": "8s",
            "retry": {"max_attempts": 2, "initial": "1s"},
        }

    def _http_payload(self) -> dict[str, Any]:
        return {"seconds": self._random.choice([0, 0.2, 1.0]), "refusals": self._random.choice([0, 0, 1])}

    async def _runs(self) -> None:
        while await self._pause(0.2, 1.0):
            self._start(self._run(self._random.choice(self._manual), self._random.random() < 0.4))

    async def _backfills(self, jobs: Sequence[str]) -> None:
        """Of what was due since the beginning, and has not run or has failed."""
        begin = datetime.now(UTC).replace(microsecond=0)
        while await self._pause(3.0, 8.0):
            job, now = self._random.choice(jobs), datetime.now(UTC).replace(microsecond=0)
            policy = self._random.choice(("missing", "failed"))
            span = {"from": begin.isoformat(), "to": (now - timedelta(seconds=5)).isoformat()}
            body = {**span, "max_active": 2, "policy": policy}
            if now - begin > timedelta(seconds=10):
                self._start(
                    self._send(self._begin("backfill", job), "POST", f"/v1/jobs/{job}/backfill", body)
                )

    async def _run(self, job: str, cancel: bool) -> None:
        asked = self._begin("run", job)
        await self._send(asked, "POST", f"/v1/jobs/{job}/run")
        if cancel and asked.made and await self._pause(0.0, 3.0):
            stop = self._begin("cancel", asked.made)
            await self._send(stop, "POST", f"/v1/executions/{asked.made}/cancel")

    async def _pauses(self, job: str) -> None:
        """Never more than one of the two under way, so that what the answers mean is certain."""
        while await self._pause(1.0, 4.0):
            await self._send(self._begin("pause", job), "POST", f"/v1/jobs/{job}/pause")
            await self._pause(1.0, 4.0)
            await self._send(self._begin("resume", job), "POST", f"/v1/jobs/{job}/resume")

    async def _cancel_job(self, job: str) -> None:
        await self._send(self._begin("cancel_job", job), "DELETE", f"/v1/jobs/{job}")

    def _begin(self, kind: Any, subject: str) -> Asked:
        asked = Asked(kind, f"{kind}-{self._random.getrandbits(60)}", subject, datetime.now(UTC))
        self.asked.append(asked)
        return asked

    async def _send(self, asked: Asked, method: str, path: str, body: Any = None) -> None:
        """Again and again, each time to another server, until one answers."""
        place = self._random.randrange(len(self._urls))
        for number in range(_TRIES):
            url = self._urls[(place + number) % len(self._urls)]
            answer = await self._try(method, url + path, asked, body)
            if answer is not None:
                asked.answered_at, asked.status = datetime.now(UTC), answer.status_code
                asked.made = answer.json().get("id") if answer.is_success else None
                return
            await asyncio.sleep(_PAUSE)

    async def _try(self, method: str, url: str, asked: Asked, body: Any) -> httpx2.Response | None:
        asked.sent += 1
        try:
            answer = await self._http.request(
                method, url, json=body, headers={"Idempotency-Key": asked.idempotency_key}
            )
        except httpx2.TransportError:
            return None
        in_flight = answer.status_code == _IN_FLIGHT and "Retry-After" in answer.headers
        return None if answer.status_code in _BUSY or in_flight else answer

    async def _pause(self, least: float, most: float) -> bool:
        """Whether to go on."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._random.uniform(least, most)):
                await self._ending.wait()
        return not self._ending.is_set()

    def _start(self, asking: Any) -> None:
        task = asyncio.create_task(asking)
        self._open.add(task)
        task.add_done_callback(self._open.discard)
