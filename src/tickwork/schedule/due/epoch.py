"""Due times are counted in whole seconds since 1970, up to the year 2100."""

from datetime import UTC, datetime, timedelta

DAY = 86_400
BEGIN = 2 * DAY  # by then it is 1970 everywhere
LAST_YEAR = 2099
_START = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
END = (datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC) - _START) // _SECOND
FIRST_DAY = _START.toordinal()


def to_seconds(at: datetime) -> int:
    """Rounded down, so that "strictly after" means the same for the instant and for its second."""
    return (at - _START) // _SECOND


def from_seconds(seconds: int) -> datetime:
    return _START + timedelta(seconds=seconds)
