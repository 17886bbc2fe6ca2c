"""What users ask for, at random, and what they hear."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

import msgspec

from simulation.simulated_database import Planned
from simulation.simulated_worker import TASKS
from simulation.simulated_world import BEGIN, TENANT, Server, SimulatedWorld
from support.graph_model import FANNED_OUT, graph_by_chance, request_of
from support.observed_history import Key, Operation
from tickwork.api.idempotency_key import KEY_HEADER, fingerprint, run_once
from tickwork.api.reply import Reply, json_reply
from tickwork.api.route import Call
from tickwork.model.access import Caller, Scope
from tickwork.model.backfill import BackfillRequest
from tickwork.model.errors import Conflict, Invalid, NotFound, Stale, Unavailable
from tickwork.model.job import JobRequest, RetryRequest
from tickwork.model.public_ids import parse_execution_id, parse_job_id

HORIZON = BEGIN + timedelta(seconds=38)  # nothing recurs after this, and no due time of any step falls on it
_POISONED = 0.1  # of one-time jobs
_GRAPHS = 0.4  # of requests
_LARGEST_GRAPH = 5
_RECURRING = 0.3  # of graphs
_LARGEST_ROUND = 3
_CALLED = 0.4  # of jobs, where there are targets
_WINDOW = {"start": BEGIN.isoformat(), "end": HORIZON.isoformat()}
_CALLER = Caller(TENANT, "default", 1, frozenset({Scope.WRITE}))
_REFUSALS = (Conflict, NotFound, Invalid, Stale)
_UNENDED = """
    SELECT job_id, scheduled_for FROM tickwork.execution WHERE finished_at IS NULL ORDER BY scheduled_for, job_id"""

Answer = Literal["ok", "refused", "unknown"]


class Client:
    def __init__(self, world: SimulatedWorld) -> None:
        self._world = world
        self._requests = 0
        self._jobs: list[int] = []
        self._dependent: list[int] = []  # jobs of graphs
        self._unanswered: list[tuple[int, str]] = []  # runs to ask for again: job, Idempotency-Key

    async def create(self, server: Server, planned: Planned | None = None) -> None:
        if self._world.random.random() < _GRAPHS:
            await self._create_graph(server, planned)
            return
        number = self._world.random.choice((1, 2, 3))
        await self._create(server, [self._http() for _ in range(number)], planned)

    async def _create_graph(self, server: Server, planned: Planned | None) -> None:
        """With branches, conditions and lists. What it does is left to the workers."""
        self._requests += 1
        random = self._world.random
        recurs = random.random() < _RECURRING
        graph = list(FANNED_OUT)
        if random.random() < 0.5:
            graph = graph_by_chance(random, most=_LARGEST_ROUND if recurs else _LARGEST_GRAPH)
        schedule = {"every": "15s", **_WINDOW} if recurs else None
        keys = tuple(f"k{self._requests}-{each}" for each in range(len(graph)))
        names = [f"@n{place}" for place in range(len(graph))]
        retry = RetryRequest(max_attempts=random.choice((1, 2)), initial="1s")
        requests = [
            request_of(
                node, place, names, key=keys[place], payload={"n": node.n}, retry=retry,
                schedule=None if node.edges else schedule,
            )
            for place, node in enumerate(graph)
        ]  # fmt: skip
        answer, made = await self._ask(server, server.node.jobs.create_many(TENANT, requests), planned)
        self._dependent += [parse_job_id(job.id) for job in made or ()]
        self._note(Operation("create", answer, 0, keys=keys))

    def _http(self) -> dict[str, Any]:
        """Sometimes a call of a target that reports later."""
        if not self._world.has_targets or self._world.random.random() > _CALLED:
            return {}
        http: dict[str, Any] = {"url": "https://target.example/x", "completion": "callback"}
        if self._world.random.random() < 0.3:
            http["heartbeat"] = "6s"
        timeout = self._world.random.choice(("8s", "15s"))
        return {"task": None, "http": http, "timeout": timeout, "payload": {}}

    async def fill(self, server: Server, task: str, places: int) -> None:
        """As much of a task as workers have places for, one under a limit that is then used up, and what falls due
        soon: more of it under that limit, beside another task."""
        now: dict[str, Any] = {"task": task, "schedule": {"at": self._world.now.isoformat()}, "payload": {}}
        soon: dict[str, Any] = {"schedule": {"every": "5s", **_WINDOW}, "payload": {}}
        used_up: dict[str, Any] = {"limits": [{"key": f"full {self._requests}", "max_running": 1}]}
        (other,) = {*TASKS} - {task}
        chosen = [{**now, **used_up}, *[{**now, "limits": []}] * (places - 1)]
        chosen += [{"task": task, **soon, **used_up}, {"task": other, **soon}]
        await self._create(server, chosen, None)

    async def _create(
        self, server: Server, chosen: Sequence[dict[str, Any]], planned: Planned | None
    ) -> None:
        self._requests += 1
        keys = tuple(f"k{self._requests}-{each}" for each in range(len(chosen)))
        requests = [*map(self._job, keys, chosen)]
        answer, made = await self._ask(server, server.node.jobs.create(TENANT, requests), planned)
        self._jobs += [parse_job_id(view.id) for view in made or ()]
        self._note(Operation("create", answer, 0, keys=keys))

    async def anything(self, server: Server, planned: Planned | None = None) -> None:
        if self._unanswered and self._world.random.random() < 0.5:
            await self._run(server, *self._unanswered.pop(), planned)
            return
        if not self._jobs:
            await self.create(server, planned)
            return
        acts: list[Callable[[Server, int, Planned | None], Awaitable[None]]] = [
            self._run_now, self._run_now, self._pause, self._resume, self._resume, self._edit, self._cancel,
            self._cancel, self._cancel_job, self._backfill, self._redrive, self._redrive,
        ]  # fmt: skip
        if self._dependent and self._world.random.random() < _GRAPHS:
            of_graphs = (self._pause, self._resume, self._cancel_job, self._redrive)
            await self._world.random.choice(of_graphs)(
                server, self._world.random.choice(self._dependent), planned
            )
            return
        act = self._world.random.choice(acts)
        await act(server, self._world.random.choice(self._jobs), planned)

    async def ask_again(self, server: Server) -> None:
        """Until every run that was asked for has its answer."""
        while self._unanswered:
            await self._run(server, *self._unanswered.pop(), None)

    def _job(self, key: str, chosen: dict[str, Any]) -> JobRequest:
        """At random, but for what is chosen."""
        choose = self._world.random.choice
        now = self._world.now
        schedule = choose(
            (
                {"every": choose(("5s", "10s")), **_WINDOW},
                {"every": choose(("5s", "20s")), **_WINDOW},
                {"cron": choose(("*/7 * * * * *", "*/10 * * * * *")), **_WINDOW},
                {"at": (now + timedelta(seconds=choose((1, 3, 9)))).isoformat()},
            )
        )
        once = "at" in schedule
        return msgspec.convert(
            {
                "key": key,
                "task": choose(TASKS),
                "payload": {"poison": True} if once and self._world.random.random() < _POISONED else {},
                "schedule": schedule,
                "overlap": choose(("skip", "skip", "queue", "allow", "replace")),
                "on_worker_lost": choose(("retry", "retry", "retry", "fail")),
                "limits": choose(([], [], [{"key": "shared", "max_running": 2}])),
                "timeout": choose(("300s", "300s", "300s", "5s")),
                "start_within": choose((None,) * 9 + ("6s",)),
                "catch_up": {"policy": choose(("latest", "skip", "all"))},
                "retry": {
                    "max_attempts": choose((1, 2, 3)),
                    "backoff": choose(("exponential", "linear", "fixed")),
                    "initial": choose(("1s", "3s")),
                    "max": "5s",
                    "jitter": choose((0, 0.2, 0.5)),
                },
                **chosen,
            },
            JobRequest,
        )

    async def _run_now(self, server: Server, job: int, planned: Planned | None) -> None:
        self._requests += 1
        await self._run(server, job, f"r{self._requests}", planned)

    async def _run(self, server: Server, job: int, key: str, planned: Planned | None) -> None:
        """As the API does it for a POST with an Idempotency-Key."""
        call = Call(server.node, _CALLER, {KEY_HEADER: key.encode()}, {}, None, None)

        async def act(_: Call[Any, Any]) -> Reply:
            return json_reply((await server.node.runs.run(TENANT, job)).id)

        mark = fingerprint("POST", f"/jobs/{job}/run", b"", b"")
        answer, reply = await self._ask(server, run_once(call, mark, act), planned)
        execution = Key(*parse_execution_id(msgspec.json.decode(reply.body))) if reply else None
        if answer == "unknown":
            self._unanswered.append((job, key))
        self._note(Operation("run", answer, 0, job, execution, idempotency_key=key))

    async def _pause(self, server: Server, job: int, planned: Planned | None) -> None:
        answer, _ = await self._ask(server, server.node.jobs.pause(TENANT, job), planned)
        self._note(Operation("pause", answer, 0, job))

    async def _resume(self, server: Server, job: int, planned: Planned | None) -> None:
        answer, _ = await self._ask(server, server.node.jobs.resume(TENANT, job), planned)
        self._note(Operation("resume", answer, 0, job))

    async def _edit(self, server: Server, job: int, planned: Planned | None) -> None:
        patches: list[dict[str, Any]] = [
            {"payload": {"changed": self._requests}},
            {"priority": "high"},
            {"overlap": self._world.random.choice(("skip", "queue", "replace", "allow"))},
            {"schedule": {"every": "10s", **_WINDOW}},
            {"schedule": {"every": "5s", **_WINDOW}},
        ]
        patch = self._world.random.choice(patches)
        answer, _ = await self._ask(server, server.node.jobs.patch(TENANT, job, patch), planned)
        self._note(Operation("edit", answer, 0, job))

    async def _cancel_job(self, server: Server, job: int, planned: Planned | None) -> None:
        answer, _ = await self._ask(server, server.node.jobs.cancel(TENANT, job), planned)
        self._note(Operation("cancel_job", answer, 0, job))

    async def _cancel(self, server: Server, _: int, planned: Planned | None) -> None:
        rows = await self._world.control.fetch(_UNENDED)
        if not rows:
            return
        key = Key(*self._world.random.choice(rows))
        answer, _ = await self._ask(server, server.node.history.cancel(TENANT, *key), planned)
        self._note(Operation("cancel", answer, await self._world.last_change(), key.job, key))

    async def _backfill(self, server: Server, job: int, planned: Planned | None) -> None:
        request = BackfillRequest(
            from_=BEGIN,
            to=self._whole_second(),
            max_active=2,
            policy=self._world.random.choice(("missing", "failed")),
        )
        answer, _ = await self._ask(server, server.node.backfills.start(TENANT, job, request), planned)
        self._note(Operation("backfill", answer, 0, job))

    async def _redrive(self, server: Server, job: int, planned: Planned | None) -> None:
        answer, _ = await self._ask(server, server.node.dead_letters.retry_job(TENANT, job), planned)
        self._note(Operation("redrive", answer, 0, job))

    def _whole_second(self) -> datetime:
        return self._world.now.replace(microsecond=0)

    async def _ask(
        self, server: Server, request: Awaitable[Any], planned: Planned | None
    ) -> tuple[Answer, Any]:
        try:
            return "ok", await self._world.ask(server, request, planned)
        except Unavailable:
            return "unknown", None
        except _REFUSALS:
            return "refused", None

    def _note(self, operation: Operation) -> None:
        subject = operation.execution or operation.job or ", ".join(operation.keys)
        self._world.note(f"client: {operation.kind} {subject}: {operation.answer}")
        self._world.operations.append(operation)
