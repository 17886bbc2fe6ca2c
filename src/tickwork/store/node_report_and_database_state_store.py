"""The rows of server nodes, and the state of the database."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import asyncpg

from tickwork.model.cluster import DatabaseView, FailoverView, NodeStatus, NodeView
from tickwork.model.stream_event import EventKind
from tickwork.store.pool import Database
from tickwork.store.query_files import queries

_MOST_NODES = 1000
_MOST_FAILOVERS = 20
SILENT_AFTER = timedelta(seconds=20)  # without a report, or without firing


class NodeReport(NamedTuple):
    """What a node says about itself."""

    id: str
    host: str
    pid: int
    version: str
    schema_version: int  # the newest migration that it knows
    address: str | None
    clock_skew: float
    database_latency: float
    fire_age: float  # seconds since its loop that fires last worked
    problems: Sequence[str]


class ReportTimes(NamedTuple):
    now: datetime
    before: datetime | None  # when the node reported last; None: never


class SilentNodes(NamedTuple):
    """The nodes that were told of just now."""

    silent: Sequence[str]
    back: Sequence[str]


class DatabaseState(NamedTuple):
    view: DatabaseView
    zone_data: str | None
    schema_version: int


class PostgresClusterStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("node_report_and_database_state")

    async def report(
        self, node: NodeReport, forget_after: timedelta, replaced_after: timedelta
    ) -> ReportTimes:
        """Write the row of a node, and delete those of nodes that were not seen for so long: sooner, if this node was
        started in their place."""
        async with self._database.transaction() as connection:
            (times,) = await connection.fetch(self._sql["report_node"], *node[:-1], list(node.problems))
            await connection.execute(self._sql["replace_nodes"], EventKind.NODE_BACK, node.id, replaced_after)
            await connection.execute(self._sql["delete_silent_nodes"], forget_after)
            await connection.execute(self._sql["note_alive"])
        return ReportTimes(*times)

    async def tell_silent(self, judge: str) -> SilentNodes:
        """Tell of other nodes that fire nothing, and of those that do so again: once, whichever node notices first."""
        async with self._database.transaction() as connection:
            silent = await connection.fetch(
                self._sql["tell_silent_nodes"], EventKind.NODE_SILENT, judge, SILENT_AFTER
            )
            back = await connection.fetch(self._sql["tell_nodes_back"], EventKind.NODE_BACK, SILENT_AFTER)
        return SilentNodes([row["id"] for row in silent], [row["id"] for row in back])

    async def leave(self, node: str) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["delete_node"], node)
            await connection.execute(self._sql["note_alive"])

    async def nodes(self, answering: str) -> list[NodeView]:
        rows = await self._database.fetch(self._sql["nodes"], _MOST_NODES)
        return [_node_of(row, answering) for row in rows]

    async def failovers(self) -> list[FailoverView]:
        """The latest ones."""
        rows = await self._database.fetch(queries("failover")["failovers"], _MOST_FAILOVERS)
        return [
            FailoverView(
                noticed_at=row["noticed_at"],
                wal_timeline=row["wal_timeline"],
                loss=row["loss"],
                lost_after=row["lost_after"],
                first_attempt=row["first_attempt"],
            )
            for row in rows
        ]

    async def database_state(self, latency: float, embedded: bool) -> DatabaseState:
        (row,) = await self._database.fetch(self._sql["database_state"])
        view = DatabaseView(
            version=row["version"].split()[0],
            embedded=embedded,
            size_bytes=row["size"],
            connections_used=row["connections_used"],
            connections_allowed=row["connections_allowed"],
            latency=latency,
            is_replica=row["is_replica"],
            replicas=row["replicas"],
        )
        return DatabaseState(view, row["zone_data"], row["schema_version"])


def _node_of(row: asyncpg.Record, answering: str) -> NodeView:
    started_at: datetime = row["started_at"]
    return NodeView(
        id=row["id"],
        status=_status(row["silent_for"], row["problems"]),
        host=row["host"],
        pid=row["pid"],
        version=row["version"],
        schema_version=row["schema_version"],
        address=row["address"],
        started_at=started_at,
        seen_at=row["seen_at"],
        clock_skew=row["clock_skew"],
        database_latency=row["database_latency"],
        fired_at=row["fired_at"],
        problems=row["problems"],
        answers=row["id"] == answering,
    )


def _status(silent_for: float, problems: Sequence[str]) -> NodeStatus:
    if silent_for > SILENT_AFTER.total_seconds():
        return "silent"
    return "unwell" if problems else "ready"
