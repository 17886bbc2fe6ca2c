"""What explaining why an execution waits asks of the store."""

from datetime import datetime
from typing import Protocol

from tickwork.model.why import Facts


class WhyStore(Protocol):
    async def facts(self, tenant_id: int, job: int, scheduled_for: datetime) -> Facts: ...
