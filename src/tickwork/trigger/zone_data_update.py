"""When the rules of time zones change, the timers that were computed with the old ones follow."""

from datetime import datetime, timedelta
from importlib.metadata import version

import structlog

from tickwork.model.bad_row_isolation import error_text
from tickwork.schedule.timing import timing_from_text
from tickwork.store.port.trigger import TriggerStore

_RULES = 200  # computed anew in one transaction, and in one breath
_log = structlog.get_logger("tickwork")


class ZoneDataUpdate:
    def __init__(self, store: TriggerStore, lead: timedelta) -> None:
        self._store = store
        self._lead = lead

    async def follow(self) -> bool:
        """Due times that are being fired stay; all later ones are as this node's time zone data says."""
        installed = version("tzdata")
        known = await self._store.zone_data()
        newer = known is None or _numbers(known) < _numbers(installed)
        if known is not None and newer:
            _log.info("computing all timers anew", time_zone_data=installed, before=known)
            rule: int | None = 0
            while rule is not None:
                rule = await self._store.retime(rule, self._lead, _RULES, self._next)
        if newer:
            await self._store.set_zone_data(installed)
        return False

    def _next(self, timing: str, after: datetime, planned: datetime) -> datetime | None:
        """One that cannot be read stays as it is, until firing finds that out too and sets it aside."""
        try:
            return timing_from_text(timing).next_after(after)
        except Exception as error:  # noqa: BLE001 (whatever is wrong with one rule, the others follow)
            _log.error("a schedule cannot be read", timing=timing[:200], error=error_text(error))
            return planned


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))
