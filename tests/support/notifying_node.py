"""A node with a worker whose tasks fail and one that sends: `python -m support.notifying_node URL`.

It posts each message to the URL, as the simplest of channels would. With TICKWORK_DIE_AFTER it kills itself after a
statement of that name."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import aiohttp
import msgspec

from support.dying_connection import let_die, name_of
from tickwork.config import Settings
from tickwork.execute.worker import Worker
from tickwork.inprocess_connection import InProcessConnection
from tickwork.model.access import Caller, Scope
from tickwork.model.channel import NOTIFY_TASK
from tickwork.model.notification_message import NotificationMessage
from tickwork.model.task import direct_task
from tickwork.model.worker_protocol import Run
from tickwork.node import Node

STARTED = "notifying node started"
_CALLER = Caller(1, "default", 1, frozenset({Scope.WORKER}))


class _Link:
    """Connects a worker to the node in the same process."""

    def __init__(self, node: Node, caller: Caller | None) -> None:
        self._node = node
        self._caller = caller
        self._attended: set[asyncio.Task[None]] = set()

    async def connect(self) -> InProcessConnection:
        connection = InProcessConnection()
        self._attended.add(
            asyncio.create_task(self._node.gateway.attend(self._caller, connection.server_end))
        )
        return connection


async def _fail(_: Run) -> bytes | None:
    raise ValueError("row 17 of 99 is broken")


async def main(url: str) -> None:
    settings = Settings(database_url=os.environ["TICKWORK_DATABASE_URL"], data_dir=Path.cwd(), http=False)
    node = Node(settings)
    await node.open()
    if after := os.environ.get("TICKWORK_DIE_AFTER"):
        let_die(node, lambda query: _kill_itself_if(name_of(query) == after))
    node._loops.start()
    async with aiohttp.ClientSession() as http:

        async def send(run: Run) -> bytes | None:
            message = msgspec.json.decode(run.payload, type=NotificationMessage)
            async with http.post(url, data=run.payload, headers={"webhook-id": message.id}) as answer:
                answer.raise_for_status()
            return None

        workers = [
            Worker(_Link(node, _CALLER), [direct_task("work", _fail)], log_failures=False),
            Worker(_Link(node, None), [direct_task(NOTIFY_TASK, send)], slots=50, log_failures=False),
        ]
        print(STARTED, flush=True)  # noqa: T201
        await asyncio.gather(*(worker.run() for worker in workers))


def _kill_itself_if(is_time: bool) -> None:
    if is_time:
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
