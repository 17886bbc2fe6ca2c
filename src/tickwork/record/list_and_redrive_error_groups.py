"""Failures grouped by cause: listed, and redriven or discarded as a whole."""

from tickwork.model.dead_letter import DeadLetterChoice, DeadLetterFilter, Discarded, Redriven, RedrivePace
from tickwork.model.error_group import ErrorGroupView
from tickwork.model.errors import NotFound
from tickwork.model.field_types import Page
from tickwork.model.stream_event import fingerprint_text
from tickwork.record.dead_letters import DeadLetters
from tickwork.store.port.record import ErrorGroupStore


class ErrorGroups:
    def __init__(self, store: ErrorGroupStore, dead_letters: DeadLetters) -> None:
        self._store = store
        self._dead_letters = dead_letters

    async def list(
        self, tenant_id: int, task: str | None, error: str | None, limit: int, cursor: str | None
    ) -> Page[ErrorGroupView]:
        return await self._store.page(tenant_id, task, error, limit, cursor)

    async def get(self, tenant_id: int, fingerprint: int) -> ErrorGroupView:
        group = await self._store.group(tenant_id, fingerprint)
        if group is None:
            raise NotFound("error", fingerprint_text(fingerprint))
        return group

    async def redrive(self, tenant_id: int, fingerprint: int, pace: RedrivePace) -> Redriven:
        """Run all dead letters of this cause again."""
        return await self._dead_letters.redrive(tenant_id, await self._choice(tenant_id, fingerprint), pace)

    async def discard(self, tenant_id: int, fingerprint: int) -> Discarded:
        return await self._dead_letters.discard(tenant_id, await self._choice(tenant_id, fingerprint))

    async def _choice(self, tenant_id: int, fingerprint: int) -> DeadLetterChoice:
        await self.get(tenant_id, fingerprint)
        return DeadLetterChoice(None, DeadLetterFilter(fingerprint=fingerprint))
