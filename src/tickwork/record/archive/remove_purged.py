"""Removes purged jobs and tenants from the archive: the files of each day that has them are written again without them.

A pass goes over all parts, one in each step. After a crash it begins anew: parts without them are only read.
"""

import asyncio
from collections import Counter

from tickwork.model.archive import ArchivePart, Purged
from tickwork.record.archive.archive_storage import Location
from tickwork.record.archive.part_files import Owner, copy_without, owners_of_rows, verify_files
from tickwork.store.port.archive import ArchiveStore

_TOGETHER = 1000  # jobs, and tenants


class PurgedFromArchive:
    def __init__(self, store: ArchiveStore, location: Location) -> None:
        self._store = store
        self._location = location
        self._unwanted = Purged([], [])
        self._removed = Counter[Owner]()  # executions of each that the pass has removed
        self._left: list[ArchivePart] | None = (
            None  # parts that the pass has not come to; None: there is no pass
        )

    async def remove_from_next(self) -> bool:
        """Whether there may be more to do."""
        if self._left is None:
            self._unwanted = await self._store.purged(_TOGETHER)
            if not self._unwanted:
                return False
            self._removed, self._left = Counter[Owner](), await self._store.parts()
        parts, self._left = self._left, None  # a pass that fails begins anew
        if parts:
            await self._remove_from(parts[0])
            self._left = parts[1:]
        else:
            await self._note_end()
        return True

    async def _remove_from(self, part: ArchivePart) -> None:
        """What is read must be what was written: a damaged file is not made a valid one."""
        manifest = part.manifest
        if manifest is None:
            return
        current, unwanted = manifest.generation, self._unwanted
        found = await asyncio.to_thread(owners_of_rows, self._location, manifest, unwanted)
        if found:
            await asyncio.to_thread(verify_files, self._location, manifest)
            generations = await asyncio.to_thread(self._location.generations, part.name)
            current = max(part.generation, *generations, 0) + 1
            await self._store.begin_generation(part, current)
            copy = await asyncio.to_thread(copy_without, self._location, manifest, unwanted, current)
            await asyncio.to_thread(verify_files, self._location, copy)
            await asyncio.to_thread(self._location.write_manifest, copy)
            await self._store.note_written(part, copy)
        for generation in await asyncio.to_thread(self._location.generations, part.name):
            if generation != current:
                await asyncio.to_thread(self._location.delete_generation, part.name, generation)
        self._removed += found

    async def _note_end(self) -> None:
        jobs, tenants = dict.fromkeys(self._unwanted.jobs, 0), dict.fromkeys(self._unwanted.tenants, 0)
        for owner, count in self._removed.items():
            if owner.job in jobs:
                jobs[owner.job] += count
            if owner.tenant in tenants:
                tenants[owner.tenant] += count
        await self._store.note_purged(jobs, tenants)
