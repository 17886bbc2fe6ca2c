"""Nodes that archive and purge, each in a process of its own that kills itself at a chosen step.

A step is a statement that the node has sent, or what it does to a file of the archive. `python -m
support.killed_archiver` has imported everything, and forks a process for each line of its input: a real one, that
needs a tenth of the time.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

import asyncpg
import msgspec

from support.cluster import die_with_parent
from support.dying_connection import let_die, name_of
from tickwork.config import Settings
from tickwork.log_setup import configure_logs
from tickwork.node import Node
from tickwork.record.archive import archive_storage as archive_location
from tickwork.testing import SettableClock

HISTORY_DAYS = 3
TENANT = 1
_TESTS = Path(__file__).parent.parent
_UNTIL_SWEPT = timedelta(minutes=2)  # until a purge is looked at once more
_MAY_BE_IN_ARCHIVE = """
SELECT EXISTS (SELECT FROM tickwork.purge WHERE left_archive_at IS NULL)
    OR EXISTS (SELECT FROM tickwork.tenant_purge WHERE left_archive_at IS NULL)"""
_UNDER_WAY = "SELECT EXISTS (SELECT FROM tickwork.archive_part WHERE state <> 'dropped')"
_DROPPED = "SELECT count(*) FROM tickwork.archive_part WHERE state = 'dropped'"


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """Finish what another process began. Then archive the next day, or purge this job or this tenant, and die at a step
    of that."""

    database_url: str
    folder: str
    steps: str  # a file for the names of the steps
    purge: int | None = None
    purge_tenant: str | None = None
    die_at: int | None = None  # from 1 on; None: live
    at_every_step: bool = False  # not only where something was stored that is seen from outside


class Archivers:
    """Starts one process after the other."""

    def __init__(self, database_url: str, folder: Path, *, at_every_step: bool) -> None:
        self.folder = folder / "archive"
        self._order = Order(
            database_url=database_url,
            folder=str(self.folder),
            steps=str(folder / "steps"),
            at_every_step=at_every_step,
        )
        self._parent: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Self:
        self._parent = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "support.killed_archiver",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, preexec_fn=die_with_parent,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(_TESTS), os.environ.get("PYTHONPATH", "")])},
        )  # fmt: skip
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._parent
        assert self._parent.stdin
        self._parent.stdin.close()
        await self._parent.wait()

    async def run(self, **order_fields: Any) -> str | None:
        """The step at which it was killed; None: it has lived to the end."""
        order = msgspec.structs.replace(self._order, **order_fields)
        _empty(order.steps)
        assert self._parent
        assert self._parent.stdin
        assert self._parent.stdout
        self._parent.stdin.write(msgspec.json.encode(order) + b"\n")
        exit_code = int(await self._parent.stdout.readline())
        if exit_code == 0:
            return None
        assert exit_code == -signal.SIGKILL
        return _last_line(order.steps)


def _empty(file: str) -> None:
    Path(file).write_text("")


def _last_line(file: str) -> str:
    return Path(file).read_text().splitlines()[-1]


class Steps:
    """Counts them, and kills its process at one of them."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._number = 0
        self.is_over = False
        self._last_statement = ""
        self._names = os.open(order.steps, os.O_WRONLY | os.O_APPEND)

    def sent(self, query: str) -> None:
        """A statement was answered."""
        name = name_of(query)
        if name == "COMMIT" and self._is_worth_it(self._last_statement):
            self.came_to(f"after {self._last_statement} was committed")
        elif self._order.at_every_step:
            self.came_to(f"after {name}")
        self._last_statement = name

    def _is_worth_it(self, statement: str) -> bool:
        """The duty is taken and kept again and again."""
        return self._order.at_every_step or statement != "take_duty" or not self._number

    def did(self, event: str, arguments: tuple[Any, ...]) -> None:
        """What Python does next."""
        if event in ("open", "os.rename", "os.mkdir") and str(arguments[0]).startswith(self._order.folder):
            path = Path(str(arguments[0]))
            if path.suffix or self._order.at_every_step:
                self.came_to(f"before {event} {path.name if path.suffix else 'folder'}")

    def came_to(self, name: str) -> None:
        if self.is_over:
            return
        os.write(self._names, f"{name}\n".encode())
        self._number += 1
        if self._number == self._order.die_at:
            os.kill(os.getpid(), signal.SIGKILL)


class _WatchedFiles:
    """A file system of pyarrow, whose operations Python is not told of."""

    def __init__(self, files: Any, came_to: Callable[[str], None]) -> None:
        self._files = files
        self._came_to = came_to

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    def delete_file(self, path: str) -> None:
        self._came_to(f"before delete_file {Path(path).name}")
        self._files.delete_file(path)

    def delete_dir(self, path: str) -> None:
        self._came_to("before delete_dir")
        self._files.delete_dir(path)
        self._came_to("after delete_dir")


def _watch(node: Node, steps: Steps) -> None:
    let_die(node, steps.sent)
    sys.addaudithook(steps.did)
    archiver: Any = node.archive._archiver
    archiver._location.files = _WatchedFiles(archiver._location.files, steps.came_to)
    write = archive_location.HashingFile.write

    def watched(file: archive_location.HashingFile, data: Any) -> int:
        written = write(file, data)
        if file.size == written:
            steps.came_to("after the first bytes of a file")
        return written

    archive_location.HashingFile.write = watched  # type: ignore[method-assign, assignment]


class _Archiver:
    """What one process does."""

    def __init__(self, node: Node, ask: asyncpg.Connection, clock: SettableClock) -> None:
        self._node = node
        self._ask = ask
        self._clock = clock

    async def finish_what_another_began(self) -> None:
        while await self._ask.fetchval(_UNDER_WAY):
            await self._node.step("archive history")
        while await self._ask.fetchval(_MAY_BE_IN_ARCHIVE):
            await self._delete_purged()

    async def archive_a_day(self) -> None:
        before = await self._ask.fetchval(_DROPPED)
        while await self._ask.fetchval(_DROPPED) == before:
            assert await self._node.step("archive history")

    async def purge(self, job: int) -> None:
        await self._node.purges.purge(TENANT, job)
        while await self._ask.fetchval(_MAY_BE_IN_ARCHIVE):
            await self._delete_purged()

    async def purge_tenant(self, name: str) -> None:
        await self._node.tenants.purge(name, confirm=name)
        while await self._ask.fetchval(_MAY_BE_IN_ARCHIVE):
            await self._delete_purged()

    async def _delete_purged(self) -> None:
        while await self._node.step("number events") or await self._node.step("delete purged jobs"):
            pass
        while await self._node.step("delete purged tenants"):
            pass
        while await self._node.step("archive history"):
            pass
        await self._clock.advance(_UNTIL_SWEPT)


async def _carry_out(order: Order) -> None:
    node = Node(
        Settings(
            database_url=order.database_url,
            data_dir=Path(order.folder).parent,
            archive_url=order.folder,
            history_days=HISTORY_DAYS,
            http=False,
        )
    )
    await node.open()
    ask = await asyncpg.connect(order.database_url)
    async with SettableClock(order.database_url) as clock:
        await node.step("maintain partitions")
        archiver = _Archiver(node, ask, clock)
        await archiver.finish_what_another_began()
        steps = Steps(order)
        _watch(node, steps)
        if order.purge:
            await archiver.purge(order.purge)
        elif order.purge_tenant:
            await archiver.purge_tenant(order.purge_tenant)
        elif order.die_at:
            await archiver.archive_a_day()
        steps.is_over = True
    await ask.close()
    await node.stop()


def main() -> None:
    configure_logs("console", "error")  # keep logs out of the output
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            die_with_parent()
            asyncio.run(_carry_out(msgspec.json.decode(line, type=Order)))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
