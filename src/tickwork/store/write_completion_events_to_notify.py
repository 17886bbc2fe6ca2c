"""That executions completed, as events, where somebody is told of it."""

from collections import defaultdict
from collections.abc import Collection, Sequence

import asyncpg

from tickwork.model.public_ids import from_micros
from tickwork.store.pool import Connection, Database
from tickwork.store.port.notify import CompletionRules, TellingLane, ToldCompletion
from tickwork.store.query_files import queries


async def write_told_completions(connection: Connection, told: Sequence[ToldCompletion]) -> None:
    """In the transaction that completes them, after it has done so."""
    if told:
        outcomes = [each.outcome for each in told]
        await connection.execute(
            queries("write_completion_events_to_notify")["write_told_completions"],
            [outcome.tenant for outcome in outcomes],
            [from_micros(outcome.at) for outcome in outcomes],
            [outcome.job for outcome in outcomes],
            [outcome.attempt for outcome in outcomes],
            [each.is_certain for each in told],
        )


class PostgresToldCompletionStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("write_completion_events_to_notify")

    async def completion_rules(self) -> dict[int, CompletionRules]:
        by_tenant: defaultdict[int, list[asyncpg.Record]] = defaultdict(list)
        for row in await self._database.fetch(self._sql["completion_rules"]):
            by_tenant[row["tenant_id"]].append(row)
        return {tenant_id: _rules(rows) for tenant_id, rows in by_tenant.items()}

    async def telling_lanes(self, lanes: Collection[int]) -> list[TellingLane]:
        rows = await self._database.fetch(self._sql["telling_lanes"], list(lanes))
        return [TellingLane(row["id"], row["queue"], row["tells_completion"]) for row in rows]


def _rules(rows: Sequence[asyncpg.Record]) -> CompletionRules:
    completed = [row for row in rows if row["completed"]]
    return CompletionRules(
        everything=any(row["tag"] is None and row["queue"] is None for row in completed),
        queues=frozenset(row["queue"] for row in completed if row["queue"] is not None),
        of_some_jobs=len(completed) < len(rows) or any(row["tag"] is not None for row in completed),
    )
