"""The archive of a node, if one is set: whatever writing it needs is imported only then."""

from datetime import datetime
from os import environ
from typing import TYPE_CHECKING

from tickwork.config import Settings
from tickwork.loop import Loops
from tickwork.model.archive import ArchiveView
from tickwork.model.errors import Invalid
from tickwork.node_database import OpenDatabase
from tickwork.store.archive_store import PostgresArchiveStore
from tickwork.store.restored_from_archive_store import PostgresRestoredStore
from tickwork.store.rows_to_archive import PostgresSealedRows

if TYPE_CHECKING:
    from tickwork.record.archive.archive_history import Archiver


class NodeArchive:
    def __init__(self, settings: Settings, opened: OpenDatabase, loops: Loops) -> None:
        self.restored = PostgresRestoredStore(opened.work)
        self._archiver = _archiver(settings.archive_url, opened) if settings.archive_url else None
        if self._archiver:
            self._archiver.add_loops(loops)

    def until(self) -> datetime | None:
        """Executions that were due before are in the archive only."""
        return self._archiver.archived_until() if self._archiver else None

    async def state(self) -> ArchiveView | None:
        """None: there is no archive."""
        return await self._archiver.state() if self._archiver else None


def _archiver(url: str, opened: OpenDatabase) -> "Archiver":
    try:
        from tickwork.record.archive.archive_history import Archiver  # noqa: PLC0415 (needs the extra)
        from tickwork.record.archive.archive_storage import open_location  # noqa: PLC0415 (likewise)
    except ImportError as error:
        raise Invalid.field(
            "archive_url", f"needs {error.name}, which is not installed", "pip install 'tickwork[archive]'"
        ) from None
    store = PostgresArchiveStore(opened.work, opened.partitions, opened.node_id)
    return Archiver(store, PostgresSealedRows(opened.work), open_location(url, environ))
