"""Rules about who is told of what."""

from datetime import timedelta

import asyncpg

from tickwork.model.errors import NotFound
from tickwork.model.notification_rule import STUCK_AFTER, NotificationRuleRequest, NotificationRuleView
from tickwork.model.quantities import parse_duration
from tickwork.store.channels_for_notifier import read_told_channels
from tickwork.store.pool import Database
from tickwork.store.port.notify import ToldChannel
from tickwork.store.query_files import queries


class PostgresNotificationRuleStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("notification_rule")

    async def rules(self, tenant_id: int) -> list[NotificationRuleView]:
        rows = await self._database.fetch(self._sql["notification_rules"], tenant_id, None)
        return [_view(row) for row in rows]

    async def rule(self, tenant_id: int, name: str) -> NotificationRuleView:
        row = await self._database.fetchrow(self._sql["notification_rules"], tenant_id, name)
        if row is None:
            raise NotFound("notification rule", name)
        return _view(row)

    async def set(self, tenant_id: int, name: str, rule: NotificationRuleRequest) -> NotificationRuleView:
        async with self._database.transaction() as connection:
            await connection.execute(
                self._sql["set_notification_rule"],
                tenant_id,
                name,
                rule.tag,
                rule.queue,
                list(dict.fromkeys(rule.on)),
                list(dict.fromkeys(rule.to)),
                rule.dead_letters_above,
                _stuck_after(rule),
            )
            return await self.rule(tenant_id, name)

    async def delete(self, tenant_id: int, name: str) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["delete_notification_rule"], tenant_id, name)

    async def channels(self, tenant_id: int) -> list[ToldChannel]:
        return await read_told_channels(self._database, tenant_id)


def _stuck_after(rule: NotificationRuleRequest) -> timedelta | None:
    return parse_duration(rule.stuck_after or STUCK_AFTER) if "queue_stuck" in rule.on else None


def _view(row: asyncpg.Record) -> NotificationRuleView:
    stuck_after: timedelta | None = row["stuck_after"]
    return NotificationRuleView(
        name=row["name"],
        on=row["kinds"],
        to=row["channels"],
        tag=row["tag"],
        queue=row["queue"],
        dead_letters_above=row["dead_letters_above"],
        stuck_after=stuck_after.total_seconds() if stuck_after is not None else None,
        created_at=row["created_at"],
        changed_at=row["changed_at"],
    )
