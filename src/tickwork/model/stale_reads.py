"""Whether what is read at the moment may be a few seconds old, so that a replica of the database may answer.

Only lists, statistics and exports say so. Decisions are always made on the primary.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class StaleReads:
    """What is read in a block that allows it."""

    def __init__(self) -> None:
        self.from_replica = False


allowed_stale_reads: ContextVar[StaleReads | None] = ContextVar("stale reads", default=None)


@contextmanager
def allow_stale_reads() -> Iterator[StaleReads]:
    reads = StaleReads()
    token = allowed_stale_reads.set(reads)
    try:
        yield reads
    finally:
        allowed_stale_reads.reset(token)
