"""Archives days that are older than the history that is kept, and drops each only when it was read back.

One node at a time has the duty, and it does one day at a time:

    seal ──▶ write files ──▶ read them back ──▶ write manifest ──▶ note it ──▶ forget what belonged to it ──▶ drop

Each arrow is a commit or a file. Who goes on after a crash begins with the state that the database has: a sealed day is
written again, as a new generation, and what an earlier one has left is deleted.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

import structlog
from prometheus_client import Gauge

from tickwork.loop import Loops
from tickwork.model.archive import ArchiveDamaged, ArchivePart, ArchiveView, Manifest
from tickwork.record.archive.archive_storage import Location, failures
from tickwork.record.archive.part_files import PartWriter, verify_files
from tickwork.record.archive.remove_purged import PurgedFromArchive
from tickwork.store.port.archive import (
    SYSTEM_END,
    ArchivePage,
    ArchiveStore,
    LostDuty,
    Place,
    SealedRows,
)

_log = structlog.get_logger("tickwork")
_INTERVAL = 60.0
_LONG_STEP = 6 * 3600.0  # seconds: a day may be large, and its store slow
_WAITING = Gauge(
    "tickwork_archive_waiting_days", "Days older than the history that is kept, and not archived yet."
)
_PROBLEM = Gauge("tickwork_archive_problem", "1 if the next day of history cannot be archived, otherwise 0.")


class Archiver:
    def __init__(self, store: ArchiveStore, rows: SealedRows, location: Location) -> None:
        self._store = store
        self._rows = rows
        self._location = location
        self._purged = PurgedFromArchive(store, location)
        self._state: ArchiveView | None = None

    def add_loops(self, loops: Loops) -> None:
        loops.add("archive history", self.step, every=_INTERVAL, stuck_after=_LONG_STEP)

    def archived_until(self) -> datetime | None:
        """Executions that were due before are in the archive only."""
        return self._state.until if self._state else None

    async def state(self) -> ArchiveView:
        self._state = state = await self._store.state()
        _WAITING.set(state.waiting_days)
        _PROBLEM.set(state.problem is not None)
        return state

    async def step(self) -> bool:
        """One step of one day. An archive that fails must not make the node unready: jobs run without it."""
        more = False
        try:
            if await self._store.take_duty():
                more = await self._advance()
                await self._store.note_problem(None)
        except LostDuty:
            _log.info("another node archives now")
        except failures() as error:
            problem = f"{type(error).__name__}: {error}"[:1000]
            _log.error("history cannot be archived, and is not deleted", problem=problem)
            await self._store.note_problem(problem)
        await self.state()
        return more

    async def _advance(self) -> bool:
        """Whether there may be more to do."""
        part = await self._store.part_under_way()
        if part is None:
            return await self._seal_next() or await self._purged.remove_from_next()
        if part.state == "sealed":
            await self._archive(part)
        elif not await self._store.forget_some(part):
            await self._delete_other_generations(part)
            await self._store.drop(part)
            _log.info("history archived", part=part.name, executions=_executions(part))
        return True

    async def _seal_next(self) -> bool:
        for label in await self._store.old_labels():
            if await self._store.seal(label):
                return True
        return False

    async def _archive(self, part: ArchivePart) -> None:
        written = await asyncio.to_thread(self._location.generations, part.name)
        generation = max(part.generation, *written, 0) + 1
        await self._store.begin_generation(part, generation)
        manifest = await self._write(part, generation)
        await asyncio.to_thread(verify_files, self._location, manifest)
        if manifest.rows("executions") != (expected := await self._rows.count_executions()):
            raise ArchiveDamaged(f"{manifest.rows('executions')} executions were written, not {expected}")
        await asyncio.to_thread(self._location.write_manifest, manifest)
        if await asyncio.to_thread(self._location.newest_manifest, part.name) != manifest:
            raise ArchiveDamaged(f"the manifest of {part.name} is not what was written")
        await self._store.note_written(part, manifest)

    async def _write(self, part: ArchivePart, generation: int) -> Manifest:
        with PartWriter(self._location, part.name, generation) as writer:
            for read in (self._rows.executions, self._rows.logs, self._rows.checkpoints):
                await self._copy(read, writer)
            files = await asyncio.to_thread(writer.finish)
        return Manifest(
            label=part.label,
            number=part.number,
            generation=generation,
            begin=part.begin,
            end=part.end,
            files=files,
        )

    async def _copy(self, read: Callable[[Place], Awaitable[ArchivePage]], writer: PartWriter) -> None:
        place: Place | None = SYSTEM_END
        while place is not None:
            page = await read(place)
            for table, rows in page.rows.items():
                await asyncio.to_thread(writer.add_rows, table, rows)
            await self._store.keep_duty()
            place = page.end

    async def _delete_other_generations(self, part: ArchivePart) -> None:
        for generation in await asyncio.to_thread(self._location.generations, part.name):
            if part.manifest and generation != part.manifest.generation:
                await asyncio.to_thread(self._location.delete_generation, part.name, generation)


def _executions(part: ArchivePart) -> int:
    return part.manifest.rows("executions") if part.manifest else 0
