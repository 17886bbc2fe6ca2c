"""When a channel is told."""

from datetime import UTC, datetime

import pytest

from tickwork.model.channel import QuietHours
from tickwork.model.channel_times import is_quiet, next_digest


@pytest.mark.parametrize(
    ("hours", "at", "quiet"),
    [
        (("22:00", "07:00"), "2026-03-10T23:00", True),
        (("22:00", "07:00"), "2026-03-10T06:59", True),
        (("22:00", "07:00"), "2026-03-10T07:00", False),
        (("22:00", "07:00"), "2026-03-10T12:00", False),
        (("12:00", "13:30"), "2026-03-10T13:00", True),
        (("12:00", "13:30"), "2026-03-10T13:30", False),
    ],
)
def test_quiet_hours_may_span_midnight(hours: tuple[str, str], at: str, quiet: bool) -> None:
    begin, end = hours
    noon = datetime.fromisoformat(at).replace(tzinfo=UTC)
    assert is_quiet(QuietHours(from_=begin, to=end), noon) is quiet


def test_quiet_hours_are_those_of_their_time_zone_also_when_clocks_change() -> None:
    hours = QuietHours(from_="22:00", to="07:00", timezone="Europe/Paris")
    assert not is_quiet(hours, datetime(2026, 1, 15, 6, 30, tzinfo=UTC))  # 07:30
    assert is_quiet(hours, datetime(2026, 1, 15, 5, 30, tzinfo=UTC))  # 06:30
    assert not is_quiet(hours, datetime(2026, 7, 15, 5, 30, tzinfo=UTC))  # 07:30 in summer


def test_an_hourly_digest_is_due_at_the_full_hour() -> None:
    noon = datetime(2026, 3, 10, 12, tzinfo=UTC)
    assert next_digest("hourly", None, noon).hour == 13
    assert next_digest("hourly", None, noon.replace(minute=59)) == noon.replace(hour=13)


def test_a_daily_digest_is_due_at_nine_in_the_time_zone_of_the_quiet_hours() -> None:
    noon = datetime(2026, 3, 10, 12, tzinfo=UTC)
    assert next_digest("daily", None, noon) == datetime(2026, 3, 11, 9, tzinfo=UTC)
    assert next_digest("daily", None, noon.replace(hour=8)) == datetime(2026, 3, 10, 9, tzinfo=UTC)
    tokyo = QuietHours(from_="22:00", to="07:00", timezone="Asia/Tokyo")  # 21:00 there
    assert next_digest("daily", tokyo, noon) == datetime(2026, 3, 11, 0, tzinfo=UTC)
