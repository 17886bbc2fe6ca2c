"""The number by which trace ids differ from those of other databases, whose jobs have the same numbers."""

from tickwork.store.pool import Database
from tickwork.store.query_files import queries


async def read_trace_seed(database: Database) -> int:
    """The same on every node."""
    (row,) = await database.fetch(queries("trace_seed")["trace_seed"])
    return int(row["seed"])
