"""The handler of each task, and the threads and child processes that the handlers share."""

from collections.abc import Iterable, Sequence

import structlog

from tickwork.execute.attempt_state import Handler
from tickwork.execute.blocked_loop import BlockedLoopWatch
from tickwork.execute.log.capture import Capture
from tickwork.execute.runners.call_async_task import coroutine_handler, direct_handler
from tickwork.execute.runners.command.command_runner import CommandRunner
from tickwork.execute.runners.contained.worker_cgroup import open_own_cgroup
from tickwork.execute.runners.process_runner import ProcessRunner
from tickwork.execute.runners.thread_runner import ThreadRunner
from tickwork.model.command import COMMAND_TASK
from tickwork.model.process_limits import NO_LIMITS
from tickwork.model.task import Runner, TaskDefinition

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork.worker")
_HERE = (Runner.COROUTINE, Runner.THREAD)  # these run the user's code in this process


class RunnerSet:
    def __init__(
        self, tasks: Iterable[TaskDefinition], app: str | None, commands: Sequence[str] = ()
    ) -> None:
        """`commands`: the patterns of the programs that may run as commands."""
        self._threads = ThreadRunner()
        self._processes = ProcessRunner(app)
        self._commands = CommandRunner(commands)
        self.commands = list(commands)
        self._capture = Capture()
        self._watch = BlockedLoopWatch()
        tasks = list(tasks)
        self._runs_users_code = any(task.runner in _HERE for task in tasks)
        self._contains = bool(commands) or any(task.process_limits != NO_LIMITS for task in tasks)
        self.handlers = {task.name: self._handler(task) for task in tasks}
        if commands:
            self.handlers[COMMAND_TASK] = self._commands.handler()

    def _handler(self, task: TaskDefinition) -> Handler:
        match task.runner:
            case Runner.COROUTINE:
                return coroutine_handler(task)
            case Runner.THREAD:
                return self._threads.handler(task)
            case Runner.PROCESS:
                return self._processes.handler(task)
            case Runner.DIRECT:
                return direct_handler(task)

    def open(self) -> None:
        if self._contains:
            cgroup = self._processes.cgroup = self._commands.cgroup = open_own_cgroup()
            contained_by = "cgroups" if cgroup else "process groups and rlimits"
            _log.info("worker contains processes", commands=self.commands, by=contained_by)
        if self._runs_users_code:
            self._capture.open()
            self._watch.open()

    async def close(self) -> None:
        self._watch.close()
        self._capture.close()
        self._threads.close()
        await self._processes.close()
