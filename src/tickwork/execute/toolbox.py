"""How each task is run, and what the runners share: threads and child processes."""

from collections.abc import Iterable

from tickwork.execute.attempt import Handler
from tickwork.execute.runners.coroutine import coroutine_handler, direct_handler
from tickwork.execute.runners.process import ProcessRunner
from tickwork.execute.runners.thread import ThreadRunner
from tickwork.model.task import Runner, TaskDefinition


class Toolbox:
    def __init__(self, tasks: Iterable[TaskDefinition], app: str | None) -> None:
        self._threads = ThreadRunner()
        self._processes = ProcessRunner(app)
        self.handlers = {task.name: self._handler(task) for task in tasks}

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

    async def close(self) -> None:
        self._threads.close()
        await self._processes.close()
