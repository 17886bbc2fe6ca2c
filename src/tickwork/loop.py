"""The loops of a server node: how each is started, stopped and woken, and whether it works."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from time import monotonic
from typing import TypeAlias

import structlog
from prometheus_client import Counter, Gauge, Histogram

from tickwork.log_rate_limit import LogRateLimit
from tickwork.loop_names import GOES_ON_WHILE_PAUSED, LoopName
from tickwork.model.errors import Unavailable

_log = structlog.get_logger("tickwork")
_PAUSE_WHEN_UNAVAILABLE = 0.25
_PAUSE_AFTER_ERROR = 1.0
_LOG_INTERVAL = 60.0  # seconds between log lines about the same error of the same loop
_MOST_FAILURES = 3  # in a row, before the loop counts as failing
_LOOK_INTERVAL = 0.25  # seconds between looks for work
_UNASKED_AFTER = 10.0  # seconds after which a loop takes a step, even if there seems to be no work for it
_MOST_UNAVAILABLE = 15.0  # seconds for which the database may be unavailable to this loop only
_FAILURES = Counter("tickwork_loop_failures_total", "Steps of a loop that failed.", ["loop"])
_FAILURES_IN_A_ROW = Gauge(
    "tickwork_loop_failures_in_a_row", "Steps of a loop that failed since one succeeded.", ["loop"]
)
_SUCCESS_AGE = Gauge(
    "tickwork_loop_success_age_seconds", "Seconds since a step of a loop succeeded.", ["loop"]
)

_STEP_SECONDS = Histogram(
    "tickwork_loop_step_seconds",
    "How long the steps of a loop took.",
    ["loop"],
    buckets=(0.001, 0.01, 0.1, 1, 10, 60),
)
_STEP_AGE = Gauge(
    "tickwork_loop_step_age_seconds", "For how long the present step of a loop has been running.", ["loop"]
)
STUCK_AFTER = (
    60.0  # seconds: longer than any statement may take, and than a step needs for its few statements
)


Step: TypeAlias = Callable[[], Awaitable[bool]]
ReadLoopsWithWork: TypeAlias = Callable[[], Awaitable[Collection[str]]]


class Outage:
    """Which loops find the database away. The store logs when an outage begins; this class logs when it ends."""

    def __init__(self) -> None:
        self._affected: set[str] = set()
        self._began_at = 0.0

    def begin(self, loop: str) -> None:
        if not self._affected:
            self._began_at = monotonic()
        self._affected.add(loop)

    def end(self, loop: str) -> None:
        if loop in self._affected:
            self._affected.discard(loop)
            if not self._affected:
                _log.info("database available again", after=f"{monotonic() - self._began_at:.1f} s")


class LoopCondition:
    """Counts the failures of a loop, logs them and reports them as metrics; notices a step that does not return."""

    def __init__(self, loop: str, outage: Outage, stuck_after: float = STUCK_AFTER) -> None:
        self._loop = loop
        self._stuck_after = stuck_after
        self._step_began_at: float | None = None
        self._outage = outage
        self._log_limit = LogRateLimit(_log.error, f"step failed ({loop})", per_kind=1, period=_LOG_INTERVAL)
        self._succeeded_at = monotonic()
        self._failures = 0
        self._error = ""  # only its type: its message may contain users' data
        self._unavailable = False
        _FAILURES.labels(loop)
        _FAILURES_IN_A_ROW.labels(loop).set(0)
        _SUCCESS_AGE.labels(loop).set_function(lambda: self.success_age)
        _STEP_AGE.labels(loop).set_function(self._step_age)
        self._step_seconds = _STEP_SECONDS.labels(loop)

    @contextmanager
    def step(self) -> Iterator[None]:
        """Measure a step, which runs inside."""
        began = self._step_began_at = monotonic()
        try:
            yield
        finally:
            self._step_began_at = None
            self._step_seconds.observe(monotonic() - began)

    def succeeded(self) -> None:
        self._succeeded_at = monotonic()
        self._outage.end(self._loop)
        if self._failures:
            self._failures = 0
            _FAILURES_IN_A_ROW.labels(self._loop).set(0)

    def failed(self, error: Exception) -> None:
        self._failures += 1
        self._unavailable = isinstance(error, Unavailable)
        self._error = _error_type(error)
        _FAILURES.labels(self._loop).inc()
        _FAILURES_IN_A_ROW.labels(self._loop).set(self._failures)
        if self._unavailable:
            self._outage.begin(self._loop)  # the store logs it, once for all loops
        elif self._log_limit.admits(repr(error)):
            _log.error("step failed", exc_info=error, loop=self._loop, in_a_row=self._failures)

    @property
    def success_age(self) -> float:
        """Seconds since a step succeeded."""
        return monotonic() - self._succeeded_at

    def problem(self) -> str | None:
        """What is wrong, if the loop is stuck in a step or fails again and again."""
        if self.is_stuck:
            return f"has been in one step for {self._step_age():.0f} seconds"
        long_ago = self.success_age > _MOST_UNAVAILABLE
        if self._failures < _MOST_FAILURES or (self._unavailable and not long_ago):
            return None
        return f"failed {self._failures} times in a row, last with {self._error}"

    @property
    def is_stuck(self) -> bool:
        return self._step_age() > self._stuck_after

    def _step_age(self) -> float:
        return monotonic() - self._step_began_at if self._step_began_at is not None else 0.0


def _error_type(error: Exception) -> str:
    state = getattr(error, "sqlstate", None)
    return f"{type(error).__name__} ({state})" if state else type(error).__name__


class Loop:
    """Repeats a step: at once while the step says that there is more, else after an interval or when woken.

    Only `stop` ends it: it waits while the database is away, and logs errors and continues.
    """

    def __init__(
        self,
        name: LoopName,
        step: Step,
        *,
        every: float,
        may_have_work: Callable[[], bool] | None,
        stuck_after: float,
        outage: Outage,
    ) -> None:
        """`may_have_work`: if it says no, the interval passes without a step."""
        self.name = name
        self.step = step
        self._every = every
        self._may_have_work = may_have_work
        self._stepped_at = monotonic()
        self._woken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stopping = False
        self.condition = LoopCondition(name, outage, stuck_after)

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name=self.name)

    def wake(self) -> None:
        self._woken.set()

    async def stop(self) -> None:
        """Finish the present step, then end."""
        self._stopping = True
        self._woken.set()
        if self._task:
            await self._task

    async def _run(self) -> None:
        more = False
        while not self._stopping:
            woken = self._woken.is_set()
            self._woken.clear()
            pause = await self._one_step() if more or woken or self._is_due() else self._pass()
            more = not pause
            if pause:
                await self._wait(pause)

    @property
    def only_with_work(self) -> bool:
        return self._may_have_work is not None

    def _is_due(self) -> bool:
        if self._may_have_work is None or self._may_have_work():
            return True
        return monotonic() - self._stepped_at > _UNASKED_AFTER

    def _pass(self) -> float:
        """Take no step. The database has said that none is needed, which is a success, too."""
        self.condition.succeeded()
        return self._every

    async def _one_step(self) -> float:
        self._stepped_at = monotonic()
        try:
            with self.condition.step():
                more = await self.step()
        except Exception as error:  # noqa: BLE001 (a node without this loop would only look alive)
            self.condition.failed(error)
            return _PAUSE_WHEN_UNAVAILABLE if isinstance(error, Unavailable) else _PAUSE_AFTER_ERROR
        self.condition.succeeded()
        return 0 if more else self._every

    async def _wait(self, pause: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await self._woken.wait()


class Loops:
    """The loops of a node, by name. `wake` may be passed on before `add`, but must be called only after it."""

    def __init__(self) -> None:
        self._loops: dict[LoopName, Loop] = {}
        self._outage = Outage()
        self._with_work: Collection[str] | None = None  # loops that may have work; None: not known
        self.paused = False  # the cluster is: most loops do nothing

    def add(
        self,
        name: LoopName,
        step: Step,
        *,
        every: float,
        only_with_work: bool = False,
        stuck_after: float = STUCK_AFTER,
    ) -> None:
        """`only_with_work`: only when the last look for work has found some for it, or when it is woken. A step that
        takes longer than `stuck_after` seconds counts as a problem of the node."""
        if name not in GOES_ON_WHILE_PAUSED:
            step = partial(self._unless_paused, step)
        may_have_work = partial(self._may_have_work, name) if only_with_work else None
        self._loops[name] = Loop(
            name,
            step,
            every=every,
            may_have_work=may_have_work,
            stuck_after=stuck_after,
            outage=self._outage,
        )

    def look_for_work_in(self, read: ReadLoopsWithWork) -> None:
        """Ask for all loops at once which of them may have work, so that they need not ask one by one."""
        self.add("look for work", partial(self._look_for_work, read), every=_LOOK_INTERVAL)

    async def _look_for_work(self, read: ReadLoopsWithWork) -> bool:
        self._with_work = None  # if the database does not answer, loops ask by themselves
        self._with_work = await read()
        return False

    def _may_have_work(self, name: LoopName) -> bool:
        return self._with_work is None or name in self._with_work

    async def _unless_paused(self, step: Step) -> bool:
        return False if self.paused else await step()

    def names(self) -> list[LoopName]:
        return list(self._loops)

    def problems(self) -> Iterator[tuple[LoopName, str]]:
        """The loops that are stuck or fail again and again, and what is wrong."""
        for name, loop in self._loops.items():
            if problem := loop.condition.problem():
                yield name, problem

    def stuck(self) -> list[LoopName]:
        """The loops that have been in one step for too long: only a new process helps."""
        return [name for name, loop in self._loops.items() if loop.condition.is_stuck]

    def success_age(self, name: LoopName) -> float:
        """Seconds since a step of this loop succeeded."""
        return self._loops[name].condition.success_age

    def start(self) -> None:
        for loop in self._loops.values():
            loop.start()
        _log.debug("loops started", count=len(self._loops))

    async def stop(self) -> None:
        for loop in self._loops.values():
            await loop.stop()
        _log.debug("loops stopped", count=len(self._loops))

    async def step(self, name: LoopName) -> bool:
        """Run one step; whether there may be more."""
        return await self._loops[name].step()

    def wake(self, name: LoopName) -> None:
        self._loops[name].wake()


class Wake:
    """One method for each loop that can be woken.

    A loop that reads its work from the database is woken after the commit of the open transaction: before that it would
    find nothing. A loop that has its work in memory is woken at once.
    """

    def __init__(self, loops: Loops, after_commit: Callable[[Callable[[], None]], None]) -> None:
        self._loops = loops
        self._after_commit = after_commit

    # Work in the database

    def fire_in_parallel(self) -> None:
        """Many executions are due, so a second loop helps: one waits for the database while the other computes."""
        self._after_commit(partial(self._loops.wake, "fire in parallel"))

    def backfill(self) -> None:
        """A backfill was started."""
        self._after_commit(partial(self._loops.wake, "backfill"))

    def claim(self) -> None:
        """Executions may wait for which a connected worker has capacity."""
        self._after_commit(partial(self._loops.wake, "claim"))

    def fan_out(self) -> None:
        """A fan-out may be ready, or cancelled."""
        self._after_commit(partial(self._loops.wake, "fan out"))

    def revoke(self) -> None:
        """A worker may have an execution that was cancelled."""
        self._after_commit(partial(self._loops.wake, "revoke"))

    def read_dispatch_settings(self) -> None:
        """A task was disabled or enabled, or a queue has another priority."""
        self._after_commit(partial(self._loops.wake, "read dispatch settings"))

    # Work in memory

    def record(self) -> None:
        """Workers reported outcomes."""
        self._loops.wake("record")

    def write_logs(self) -> None:
        """Workers sent log lines or progress."""
        self._loops.wake("write logs")

    def store_checkpoints(self) -> None:
        """Workers sent checkpoints, or asked for those of earlier attempts."""
        self._loops.wake("store checkpoints")

    def renew(self) -> None:
        """A worker sent a heartbeat."""
        self._loops.wake("renew")

    def update_breakers(self) -> None:
        """A destination failed, or a probe ended."""
        self._loops.wake("update breakers")
