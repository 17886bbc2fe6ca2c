"""A task of five steps, killed at every point between them while servers come and go: each step is stored once, no step
that was stored runs again, and every execution completes."""

import asyncio
import signal
from collections import Counter, defaultdict
from collections.abc import Sequence
from time import monotonic

import asyncpg
import msgspec

from support.cluster import Cluster, Program
from support.execution_history import unfinished
from support.step_tasks import POINTS, STEPS, StepLine, lines
from support.waiting import eventually
from tickwork.model.job import JobRequest, RetryRequest

_TASKS = "support.step_tasks:app"
_CHILDREN, _VICTIMS = "children", "victims"
_ENDED_WITHIN = 300.0  # seconds; a wave should take 20, but a busy machine is no reason to fail
_RETRY = RetryRequest(max_attempts=100, backoff="fixed", initial="0.05s", jitter=0)


class Plan:
    """Who dies where."""

    def __init__(self, *, waves: int, victims: int, children: Sequence[Sequence[int]]) -> None:
        self.waves = waves
        self.victims = victims  # workers, each killed once in every wave
        self.children = children  # where each of these dies, attempt by attempt

    @property
    def deaths(self) -> int:
        return self.waves * self.victims + sum(map(len, self.children))

    def points(self, wave: int) -> list[int]:
        """Another point for each victim, until all points have been."""
        return [POINTS[(wave * self.victims + place) % len(POINTS)] for place in range(self.victims)]


_SHORT = Plan(waves=2, victims=4, children=[POINTS[::2]])  # 19 deaths
_LONG = Plan(waves=20, victims=10, children=[POINTS[:-1]] * 15)  # 500


class Supervisor:
    """Starts again what has ended."""

    def __init__(self, processes: Cluster) -> None:
        self._processes = processes
        self.stopped_servers: Counter[str] = Counter()

    async def keep_workers(self) -> None:
        while True:
            for worker in self._processes.workers:
                if worker.exit_code is not None:
                    worker.launch()
            await asyncio.sleep(0.1)

    async def stop_a_server(self, wave: int) -> None:
        """In turn, by a kill and as an operator does it."""
        server: Program = self._processes.servers[wave % len(self._processes.servers)]
        how = signal.SIGKILL if wave // 2 % 2 else signal.SIGTERM
        server.send(how)
        await server.ended()
        self.stopped_servers[how.name] += 1
        await server.start()


async def test_each_step_of_a_killed_task_is_stored_once(
    processes: Cluster, connection: asyncpg.Connection, long: bool
) -> None:
    plan = _LONG if long else _SHORT
    began = monotonic()
    await _start(processes, plan)
    supervisor = Supervisor(processes)
    keeping = asyncio.create_task(supervisor.keep_workers())
    await _create(processes, [_child(deaths) for deaths in plan.children])
    for wave in range(plan.waves):
        await _create(processes, [_victim(point) for point in plan.points(wave)])
        await _create(processes, [_slow() for _ in range(3)])
        await supervisor.stop_a_server(wave)
        await _until_all_ended(connection)
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)

    written = list(lines(processes.ledger.file))
    executions = await _executions(connection)
    assert [each for each in executions if each["status"] != "completed"] == []
    _check_steps(written, await _stored(connection), executions)
    died = sum(line.event == "dying" for line in written)
    assert died == plan.deaths
    _report(f"{died} deaths of {len(executions)} executions", monotonic() - began)
    _report(f"servers stopped: {dict(supervisor.stopped_servers)}", monotonic() - began)
    _report_effects(written)


async def _start(processes: Cluster, plan: Plan) -> None:
    for _ in range(2):
        await processes.add_server()
    await processes.add_worker(slots=30, tasks=_TASKS, options=["--queue", _CHILDREN])
    for number in range(plan.victims):
        await processes.add_worker(slots=1, first=number, tasks=_TASKS, options=["--queue", _VICTIMS])


def _child(deaths: Sequence[int]) -> JobRequest:
    return JobRequest(task="in_child", queue=_CHILDREN, payload={"deaths": list(deaths)}, retry=_RETRY)


def _victim(point: int) -> JobRequest:
    return JobRequest(task="on_worker", queue=_VICTIMS, payload={"deaths": [point]})


def _slow() -> JobRequest:
    return JobRequest(task="slowly", queue=_CHILDREN, payload={"pause": 1.0})


async def _create(processes: Cluster, jobs: list[JobRequest]) -> None:
    async with processes.client() as client:
        await client.create_jobs(jobs)


async def _until_all_ended(connection: asyncpg.Connection) -> None:
    async def ended() -> bool:
        return await unfinished(connection) == 0

    await eventually(ended, within=_ENDED_WITHIN, what="the end of all executions")


async def _executions(connection: asyncpg.Connection) -> list[asyncpg.Record]:
    return await connection.fetch(
        "SELECT job_id, scheduled_for, status::text AS status, reason, attempt, result"
        " FROM tickwork.execution ORDER BY job_id"
    )


async def _stored(connection: asyncpg.Connection) -> dict[int, dict[str, str]]:
    """The results of the steps of each job, by their names."""
    rows = await connection.fetch("SELECT job_id, step, value FROM tickwork.checkpoint WHERE step <> ''")
    stored: dict[int, dict[str, str]] = defaultdict(dict)
    for row in rows:
        stored[row["job_id"]][row["step"]] = msgspec.json.decode(row["value"])
    return stored


def _check_steps(
    written: Sequence[StepLine], stored: dict[int, dict[str, str]], executions: Sequence[asyncpg.Record]
) -> None:
    names = [f"step {step}" for step in range(STEPS)]
    for execution in executions:
        steps = stored[execution["job_id"]]
        assert sorted(steps) == names
        assert msgspec.json.decode(execution["result"]) == [steps[name] for name in names]
    done: dict[tuple[str, int], str] = {}
    for line in written:
        key = line.execution, line.step
        if line.event == "ran":
            assert key not in done, f"a step that was stored ran again: {line}"
        elif line.event == "returned":
            assert done.setdefault(key, line.token) == line.token, f"a step has two results: {line}"
    assert Counter(done.values()).most_common(1)[0][1] == 1
    assert sorted(done.values()) == sorted(token for steps in stored.values() for token in steps.values())


def _report_effects(written: Sequence[StepLine]) -> None:
    ran = Counter((line.execution, line.step) for line in written if line.event == "ran")
    again = sum(ran.values()) - len(ran)
    _report(
        f"{len(ran)} steps, of which {again} effects happened before a death kept them from being stored", 0
    )


def _report(what: str, seconds: float) -> None:
    print(f"{what}: {seconds:.0f} s")  # noqa: T201 (a figure to publish; `pytest -s` shows it)


def test_the_long_form_has_five_hundred_deaths_at_all_points() -> None:
    assert (_SHORT.deaths, _LONG.deaths) == (19, 500)
    assert {point for wave in range(_LONG.waves) for point in _LONG.points(wave)} == set(POINTS)
