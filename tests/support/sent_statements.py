"""Which statements a node sends."""

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg
import pytest

from tickwork.node import Node


def watch_statements(node: Node, *, vital: bool = False) -> list[str]:
    """The statements sent on the node's open connections from now on, as they come. `vital`: on those that renew
    leases."""
    seen: list[str] = []
    database = node._vital if vital else node._database
    for holder in database._pool._holders:  # type: ignore[attr-defined]
        if holder._con is not None:
            holder._con.add_query_logger(lambda record: seen.append(record.query))
    return seen


@contextmanager
def all_statements_sent() -> Iterator[list[str]]:
    """All statements that this process sends, as they come: also those of a node that starts."""
    seen: list[str] = []
    send = asyncpg.Connection._time_and_log  # type: ignore[attr-defined]

    def note_and_send(connection: asyncpg.Connection, query: str, *others: object) -> object:
        seen.append(query)
        return send(connection, query, *others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncpg.Connection, "_time_and_log", note_and_send)
        yield seen
