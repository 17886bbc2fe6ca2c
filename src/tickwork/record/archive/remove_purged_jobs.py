"""Removes purged jobs from the archive: the files of each day that has them are written again without them.

A pass goes over all parts, one in each step. After a crash it begins anew: parts without the jobs are only read.
"""

import asyncio

from tickwork.model.archive import ArchivePart
from tickwork.model.public_ids import job_id
from tickwork.record.archive.location import Location
from tickwork.record.archive.part_files import copy_without, count_rows_of, verify_files
from tickwork.store.port.archive import ArchiveStore

_TOGETHER = 1000  # jobs


class PurgedJobs:
    def __init__(self, store: ArchiveStore, location: Location) -> None:
        self._store = store
        self._location = location
        self._removed: dict[int, int] = {}  # how many executions of each job that is being removed
        self._left: list[ArchivePart] | None = (
            None  # parts that the pass has not come to; None: there is no pass
        )

    async def remove_from_next(self) -> bool:
        """Whether there may be more to do."""
        if self._left is None:
            jobs = await self._store.jobs_to_purge(_TOGETHER)
            if not jobs:
                return False
            self._removed, self._left = dict.fromkeys(jobs, 0), await self._store.parts()
        parts, self._left = self._left, None  # a pass that fails begins anew
        if parts:
            await self._remove_from(parts[0])
            self._left = parts[1:]
        else:
            await self._store.note_purged(self._removed)
        return True

    async def _remove_from(self, part: ArchivePart) -> None:
        """What is read must be what was written: a damaged file is not made a valid one."""
        manifest = part.manifest
        if manifest is None:
            return
        current = manifest.generation
        names = {job_id(job): job for job in self._removed}
        found = await asyncio.to_thread(count_rows_of, self._location, manifest, set(names))
        if found:
            await asyncio.to_thread(verify_files, self._location, manifest)
            generations = await asyncio.to_thread(self._location.generations, part.name)
            current = max(part.generation, *generations, 0) + 1
            await self._store.begin_generation(part, current)
            copy = await asyncio.to_thread(copy_without, self._location, manifest, set(names), current)
            await asyncio.to_thread(verify_files, self._location, copy)
            await asyncio.to_thread(self._location.write_manifest, copy)
            await self._store.note_written(part, copy)
        for generation in await asyncio.to_thread(self._location.generations, part.name):
            if generation != current:
                await asyncio.to_thread(self._location.delete_generation, part.name, generation)
        for name, count in found.items():
            self._removed[names[name]] += count
