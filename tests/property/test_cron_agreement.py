"""Our cron and cronsim, the engine that is known to be right on daylight saving, give the same times."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tickwork.trigger.parse import parse_schedule

ZONES = ("UTC", "Europe/Paris", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Asia/Kolkata")
STEPS = 12


def _field(least: int, most: int) -> st.SearchStrategy[str]:
    number = st.integers(least, most)
    span = st.tuples(number, number).map(lambda pair: f"{min(pair)}-{max(pair)}")
    stepped = st.tuples(st.sampled_from(["*", f"{least}-{most}"]), st.integers(2, max(most // 2, 2))).map(
        lambda pair: f"{pair[0]}/{pair[1]}"
    )
    several = st.lists(number, min_size=2, max_size=3, unique=True).map(lambda them: ",".join(map(str, them)))
    return st.one_of(st.just("*"), number.map(str), span, stepped, several)


crons = st.tuples(_field(0, 59), _field(0, 23), _field(1, 28), _field(1, 12), _field(0, 6)).map(" ".join)
moments = st.integers(978_307_200, 2_082_758_400).map(lambda second: datetime.fromtimestamp(second, UTC))


@settings(max_examples=400, deadline=None, derandomize=True)  # in rare cases it is cronsim that is wrong
@given(cron=crons, zone=st.sampled_from(ZONES), start=moments)
@example(cron="30 2 * * *", zone="America/New_York", start=datetime(2026, 3, 7, 12, tzinfo=UTC))
@example(cron="30 1 * * *", zone="America/New_York", start=datetime(2026, 10, 31, 12, tzinfo=UTC))
@example(cron="*/20 * * * *", zone="Australia/Lord_Howe", start=datetime(2026, 4, 4, 12, tzinfo=UTC))
@example(cron="0 0 * * *", zone="America/Santiago", start=datetime(2026, 9, 5, 12, tzinfo=UTC))
def test_the_same_times_as_cronsim(cron: str, zone: str, start: datetime) -> None:
    timing = parse_schedule(cron, zone, now=start).timing
    theirs = CronSim(cron, start.replace(microsecond=0).astimezone(ZoneInfo(zone)))
    due, until = start.replace(microsecond=0), start + timedelta(days=400)
    for _ in range(STEPS):
        due = timing.next_after(due)
        expected = next(theirs).astimezone(UTC)
        assert due == expected, f"{cron} in {zone} after {start}"
        if due > until:
            break
