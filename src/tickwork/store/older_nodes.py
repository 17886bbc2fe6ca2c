"""Before a migration that older servers cannot work with: whether such servers are running.

Each node reports the newest migration that its version knows. One that was killed a moment ago looks alive, but reports
itself no more. So nobody is refused before an older node has reported itself again.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import asyncpg

from tickwork.model.errors import WrongSchema
from tickwork.store.migration_file import Migration
from tickwork.store.pool import Connection
from tickwork.store.query_files import queries

_ALIVE_WITHIN = timedelta(seconds=15)  # of the last report: three would have come since
_NAMED = 5  # nodes, in the message
FIX = "stop or upgrade them first; to go on all the same: tickwork db upgrade --allow-older-nodes"


class OlderNodesMayBeAlive(Exception):
    """It is not known yet: look again in a moment."""


class OlderNodes:
    def __init__(self) -> None:
        self._seen: dict[str, datetime] = {}  # when nodes had reported themselves at the first look

    async def check(self, connection: Connection, pending: Sequence[Migration]) -> None:
        """WrongSchema when a node is alive that the pending migrations shut out. OlderNodesMayBeAlive when one was
        until a moment ago."""
        strictest = max(pending, key=lambda migration: migration.needs)
        if not strictest.needs:
            return
        nodes = await connection.fetch(
            queries("older_nodes")["nodes_that_know_less"], strictest.needs, _ALIVE_WITHIN
        )
        reporting = [
            node for node in nodes if node["seen_at"] != self._seen.setdefault(node["id"], node["seen_at"])
        ]
        if reporting:
            raise WrongSchema(_refusal(strictest, reporting), FIX)
        if nodes:
            raise OlderNodesMayBeAlive


def _refusal(migration: Migration, nodes: Sequence[asyncpg.Record]) -> str:
    named = [f"{node['host']}:{node['pid']} (version {node['version']})" for node in nodes[:_NAMED]]
    more = [f"{len(nodes) - _NAMED} more"] if len(nodes) > _NAMED else []
    return f"servers that run cannot work with {migration.name}: {', '.join(named + more)}"
