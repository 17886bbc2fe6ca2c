"""What running a job besides its schedule asks of the store."""

from datetime import datetime
from typing import Protocol

from tickwork.model.job import Overlap


class RunStore(Protocol):
    async def run(self, tenant_id: int, job: int, overlap: Overlap) -> datetime:
        """One more execution, due now; Conflict when it would overlap and must not."""
