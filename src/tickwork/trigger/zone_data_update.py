"""Computes all timers again after an update of the time zone data."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from importlib.metadata import version

import structlog

from tickwork.model.bad_row_isolation import error_text
from tickwork.schedule.compile_timing import timing_from_text
from tickwork.store.port.trigger import TriggerStore

_BATCH = 200  # rules per transaction
_log = structlog.get_logger("tickwork")


class ZoneDataUpdate:
    def __init__(
        self, store: TriggerStore, lead: timedelta, retime_pings: Callable[[], Awaitable[None]]
    ) -> None:
        self._store = store
        self._lead = lead
        self._retime_pings = retime_pings

    async def follow(self) -> bool:
        """Apply this node's time zone data if it is newer. Due times that are already being fired do not change."""
        installed = version("tzdata")
        known = await self._store.zone_data()
        newer = known is None or _version_tuple(known) < _version_tuple(installed)
        if known is not None and newer:
            _log.info(
                "time zone data changed: computing all timers again", time_zone_data=installed, before=known
            )
            rule: int | None = 0
            while rule is not None:
                rule = await self._store.retime(rule, self._lead, _BATCH, self._next_at)
            await self._retime_pings()
        if newer:
            await self._store.set_zone_data(installed)
        return False

    def _next_at(self, timing: str, after: datetime, planned: datetime) -> datetime | None:
        """A schedule that cannot be read keeps its planned due time; firing it will then stop its rule."""
        try:
            return timing_from_text(timing).next_after(after)
        except Exception as error:  # noqa: BLE001 (an error in one rule must not stop the others)
            _log.error("a schedule cannot be read", timing=timing[:200], error=error_text(error))
            return planned


def _version_tuple(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))
