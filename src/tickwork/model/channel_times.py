"""When a channel is told: outside of its quiet hours, or at the times of its digests."""

from datetime import UTC, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo

from tickwork.model.channel import Digest, QuietHours

_DAILY_AT = time(9)


def is_quiet(hours: QuietHours, at: datetime) -> bool:
    """Quiet hours may span midnight."""
    clock = at.astimezone(_zone(hours)).time()
    begin, end = time.fromisoformat(hours.from_), time.fromisoformat(hours.to)
    return begin <= clock < end if begin <= end else clock >= begin or clock < end


def next_digest(digest: Digest, quiet: QuietHours | None, now: datetime) -> datetime:
    """The next full hour; or the next morning at nine, in the time zone of the quiet hours."""
    if digest == "hourly":
        return now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    local = now.astimezone(_zone(quiet) if quiet else UTC)
    morning = datetime.combine(local.date(), _DAILY_AT, local.tzinfo)
    if morning <= local:
        morning = datetime.combine(local.date() + timedelta(days=1), _DAILY_AT, local.tzinfo)
    return morning.astimezone(UTC)


def _zone(hours: QuietHours) -> tzinfo:
    return UTC if hours.timezone == "UTC" else ZoneInfo(hours.timezone)
