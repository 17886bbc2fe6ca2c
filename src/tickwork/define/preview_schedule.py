"""Shows what a schedule means and when it is due next, by the database's clock."""

from datetime import datetime
from typing import Any

from tickwork.model.parsed_schedule_and_preview import Preview
from tickwork.schedule.preview import preview
from tickwork.store.port.read_jobs_executions_workers import ReadStore


class Previews:
    def __init__(self, read: ReadStore) -> None:
        self._read = read

    async def preview(
        self,
        schedule: str | dict[str, Any],
        timezone: str | None,
        after: datetime | None = None,
        count: int = 5,
        viewer_timezone: str | None = None,
    ) -> Preview:
        now = await self._read.now()
        return preview(schedule, timezone, now=now, after=after, count=count, viewer_timezone=viewer_timezone)
