"""What archiving asks of the store."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

from tickwork.model.archive import ArchivePart, ArchiveTable, ArchiveView, Manifest, Purged
from tickwork.model.attempt_log import LogEntry
from tickwork.model.execution import AttemptView, ExecutionKey, ExecutionView
from tickwork.model.past_attempt_input import ExecutionInput

ArchiveRow = dict[str, Any]  # by the names of columns
Place = tuple[Any, ...]  # the key after which to go on

# Users begin with tenant 1: what belongs to the system itself, such as deliveries of notifications, is not archived.
SYSTEM_END = (0, datetime.max.replace(tzinfo=UTC), 2**63 - 1)


class LostDuty(Exception):
    """Another node archives now."""


class ArchivePage(NamedTuple):
    rows: dict[ArchiveTable, list[ArchiveRow]]
    end: Place | None  # None: there is no more


class SealedRows(Protocol):
    """The rows of the part under way. They do not change while it is read, however many statements that takes."""

    async def executions(self, after: Place) -> ArchivePage:
        """The next executions, with their attempts."""

    async def logs(self, after: Place) -> ArchivePage: ...

    async def checkpoints(self, after: Place) -> ArchivePage: ...

    async def count_executions(self) -> int: ...


class ArchiveStore(Protocol):
    async def take_duty(self) -> bool:
        """Take the duty to archive, or keep it. Whether this node has it."""

    async def keep_duty(self) -> None:
        """Raises LostDuty when this node no longer has it."""

    async def part_under_way(self) -> ArchivePart | None: ...

    async def old_labels(self) -> list[str]:
        """Days and months that are older than the history that is kept, oldest first."""

    async def seal(self, label: str) -> bool:
        """Take a day out of the partitioned tables, unless something in it is left to do, or it is in use."""

    async def begin_generation(self, part: ArchivePart, generation: int) -> None: ...

    async def note_written(self, part: ArchivePart, manifest: Manifest) -> None:
        """That this generation was written and verified. LostDuty when another one has begun since."""

    async def forget_some(self, part: ArchivePart) -> bool:
        """Delete some rows that belong to the due times of an archived part. Whether there may be more."""

    async def drop(self, part: ArchivePart) -> None: ...

    async def parts(self) -> list[ArchivePart]:
        """Those that were dropped, oldest first."""

    async def purged(self, limit: int) -> Purged:
        """Some of those that the archive may still have something of."""

    async def note_purged(self, jobs: Mapping[int, int], tenants: Mapping[int, int]) -> None:
        """That the archive has nothing of these any more, and how many executions of each it had."""

    async def note_problem(self, problem: str | None) -> None: ...

    async def state(self) -> ArchiveView: ...


class RestoredExecution(NamedTuple):
    """An execution from the archive, as the API shows it."""

    key: ExecutionKey
    execution: ExecutionView
    attempts: list[AttemptView]
    input: ExecutionInput
    log: list[LogEntry]
    tenant: str = ""  # its name, in the archive


class RestoredStore(Protocol):
    """Executions that were brought back from the archive, to be looked at."""

    async def find(self, key: ExecutionKey) -> RestoredExecution | None: ...


class Archive(Protocol):
    @property
    def restored(self) -> RestoredStore: ...

    def until(self) -> datetime | None:
        """Executions that were due before are in the archive only. None: there is none."""
