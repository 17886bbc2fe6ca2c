"""No question about time is more than a little work, and none ends in anything but an answer or a refusal."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from itertools import islice
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.call_count import MOST_CALLS, calls
from tickwork.model.errors import Invalid
from tickwork.model.parsed_schedule_and_preview import MOST_RUNS, Recurring, count_between, nth_due_time
from tickwork.schedule.due.time_zone import zone_named
from tickwork.schedule.excluded_days import load_calendars
from tickwork.schedule.parse import parse_schedule, parse_with_notes
from tickwork.schedule.preview import preview

NOW = datetime(2026, 3, 4, 10, 30, tzinfo=UTC)
# Rules that go on for ever, that ended long ago, that are announced year by year, half hours, a day that was left out.
ZONES = [
    *("UTC", "Europe/Paris", "America/New_York", "America/Santiago", "Australia/Lord_Howe", "Asia/Tokyo"),
    *("Africa/Casablanca", "Asia/Gaza", "Pacific/Apia", "America/Nuuk", "Africa/Monrovia", "Asia/Kolkata"),
]
DAYS = [f"2026-{month:02}-{day:02}" for month in range(1, 13) for day in range(1, 29)]
SATURDAY = "1971-01-02T00:00"
EVERY_POSITION = ",".join(map(str, range(1, 367)))

SPARSE = ["0 0 29 2 */7", "0 0 29 2 MON", "0 0 30 2 *", "0 0 L-30 2 *", "0 0 */2 2 MON#5"]
LIMITED = ["0 0 0 1 1 ? 1971", "0 0 0 29 2 ? 2096", "0 0 0 31 12 ? 2099"]
DENSE = [
    "* * * * * *",
    "30 2 * * *",
    "*/20 * * * *",
    "every 1s",
    "every 7 minutes between 0:00 and 23:59",
]
REPEATED = [
    *("R/P1D", "R/P3W", "R/P1M", "R/2099-12-31T23:59:59Z/P1Y", "R1000000/2026-01-01T00:00:00Z/PT1S"),
    *("R999999999/2026-01-01T00:00:00Z/P1W", "R1000/1971-01-31T00:00:00Z/P1M", "R/1971-01-01T00:00:00Z/PT1S"),
]
RULES = [
    "FREQ=YEARLY;BYWEEKNO=53;BYMONTH=6;BYDAY=MO",
    "FREQ=YEARLY;BYWEEKNO=53,-53;BYDAY=MO;BYYEARDAY=366,-1",
    f"FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;BYHOUR=9;BYSETPOS={EVERY_POSITION}",
    f"FREQ=YEARLY;BYYEARDAY={EVERY_POSITION};BYHOUR=9",
    "FREQ=WEEKLY;INTERVAL=999999;BYDAY=MO,TU;BYSETPOS=2",
    "FREQ=DAILY;INTERVAL=1000;BYDAY=MO",
    "FREQ=HOURLY;INTERVAL=168;BYDAY=TU",
    "FREQ=SECONDLY;INTERVAL=604801;BYDAY=TU",
    "FREQ=HOURLY;INTERVAL=25;BYMONTH=2;BYMONTHDAY=30",
    "DTSTART:20260101T000000Z RRULE:FREQ=MINUTELY;INTERVAL=7;BYDAY=MO;COUNT=1000",
    "DTSTART:19710101T000000Z RRULE:FREQ=YEARLY;BYMONTHDAY=29;BYMONTH=2;BYDAY=SU;COUNT=1000",
    "DTSTART:20260101T000000Z RRULE:FREQ=WEEKLY;INTERVAL=2;BYSETPOS=-1;BYDAY=MO,FR;COUNT=1000",
    "RRULE:FREQ=DAILY;UNTIL=20991231",
]
EXCLUDING: list[dict[str, Any]] = [
    {"cron": "0 9 * * SAT", "exclude": {"weekends": True}},
    {"every": "1s", "exclude": {"weekends": True, "dates": DAYS}},
    {"every": "7d", "start": SATURDAY, "exclude": {"weekends": True}},
    {"every": 604_830, "start": SATURDAY, "exclude": {"weekends": True}},
    {"cron": "0 0 25 12 *", "exclude": {"holidays": ["FR"]}},
    {"cron": "0 9 1 1 *", "exclude": {"holidays": ["AF", "AX", "SA", "SE", "US"], "weekends": True}},
    {"cron": "0 9 * * SUN", "exclude": {"holidays": ["AE"], "weekends": True}},
    {
        "every": "1s",
        "exclude": {"dates": [f"2026-03-05T00:{m:02}:{s:02}Z" for m in range(6) for s in range(60)]},
    },
]
JOINED: list[dict[str, Any]] = [
    {"any": [f"{minute} 0 29 2 */7" for minute in range(32)]},
    {"any": [f"0 {minute} 0 29 2 ? 2096" for minute in range(32)]},
    {"any": [f"FREQ=YEARLY;BYWEEKNO={week};BYDAY=MO;BYSETPOS=1" for week in range(1, 33)]},
    {
        "any": [
            {"every": 604_830 + n, "start": "1971-01-01", "exclude": {"weekends": True}} for n in range(32)
        ]
    },
    {"any": [{"cron": "30 2 * * *", "timezone": zone} for zone in ZONES]},
]
SCHEDULES = [*SPARSE, *LIMITED, *DENSE, *REPEATED, *RULES, *EXCLUDING, *JOINED]

offsets = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
instants = st.datetimes(datetime(1900, 1, 1), datetime(9999, 12, 31, 23, 59, 59), timezones=offsets)  # noqa: DTZ001
in_range = st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 2), timezones=st.just(UTC))  # noqa: DTZ001


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    load_calendars()
    for zone in ZONES:
        zone_named(zone)


def answered(ask: Callable[[], object]) -> bool:
    """Whether it was answered, not refused. Whatever else is raised, and too much work, fails the test."""
    found: list[object] = []

    def attempt() -> None:
        try:
            found.append(ask())
        except Invalid:
            return

    calls(attempt)
    return bool(found)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.sampled_from(SCHEDULES), st.sampled_from(ZONES), instants | in_range, st.sampled_from([1, 5, 100]))
@example("30 2 * * *", "Europe/Paris", datetime(2099, 6, 1, tzinfo=UTC), 5)
@example("30 2 * * *", "Europe/Paris", datetime(2099, 12, 31, 23, 59, 59, tzinfo=UTC), 5)
@example("0 9 * * *", "UTC", datetime.max.replace(tzinfo=timezone(timedelta(hours=-12))), 5)
@example("0 9 * * *", "UTC", datetime.min.replace(tzinfo=timezone(timedelta(hours=12))), 5)
def test_a_preview_of_any_time_is_answered_or_refused_with_little_work(
    schedule: str | dict[str, Any], zone: str, after: datetime, count: int
) -> None:
    shown = answered(lambda: preview(schedule, zone, now=NOW, after=after, count=count))
    assert not shown or 1971 <= after.year <= 2099


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.sampled_from(SCHEDULES), st.sampled_from(ZONES), instants | in_range)
def test_the_next_due_time_after_any_instant_is_found_with_little_work(
    schedule: str | dict[str, Any], zone: str, after: datetime
) -> None:
    try:
        understood = parse_with_notes(schedule, zone, now=NOW).schedule
    except Invalid:
        return
    assert isinstance(understood, Recurring)
    due: list[datetime | None] = []
    calls(lambda: due.append(understood.timing.next_after(after)))
    assert due[0] is None or after < due[0] < datetime(2100, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: str(schedule)[:60])
def test_a_schedule_is_read_with_little_work(schedule: str | dict[str, Any]) -> None:
    for zone in ZONES[:4]:
        answered(partial(parse_schedule, schedule, zone, now=NOW))


times = st.sampled_from(["1970-12-31", "1971-01-01", "2099-12-31", "2100-01-01", "9999-12-31", "0001-01-01"])
stamps = st.tuples(times, st.sampled_from(["", "T00:00", "T23:59:59+14:00", "T23:59:59-12:00"])).map("".join)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.sampled_from(["0 9 * * *", "every 5m", "FREQ=WEEKLY", "R/P1M"]), st.sampled_from(ZONES), stamps, stamps
)
def test_limits_at_the_ends_of_time_are_kept_or_refused(form: str, zone: str, start: str, end: str) -> None:
    answered(lambda: parse_schedule({"text": form, "start": start, "end": end}, zone, now=NOW))
    answered(lambda: preview({"text": form, "start": start}, zone, now=NOW))
    answered(lambda: preview({"text": form, "exclude": {"dates": [end, start]}}, zone, now=NOW))
    answered(lambda: preview(f"R5/{start}/P1M", zone, now=NOW))
    answered(lambda: preview({"at": start}, zone, now=NOW, viewer_timezone="Pacific/Apia"))


@pytest.mark.parametrize("schedule", [*DENSE[:3], *JOINED], ids=lambda schedule: str(schedule)[:60])
def test_runs_are_counted_with_little_work_for_each(schedule: str | dict[str, Any]) -> None:
    understood = parse_with_notes(schedule, "Europe/Paris", now=NOW).schedule
    assert isinstance(understood, Recurring)
    timing = understood.timing
    most = MOST_CALLS + 60 * MOST_RUNS
    calls(lambda: nth_due_time.__wrapped__(timing, NOW, 1_000_000_000), most)
    calls(lambda: count_between(timing, NOW, datetime(9999, 1, 1, tzinfo=UTC)), most)


def test_walking_gives_what_asking_again_and_again_gives() -> None:
    for schedule in (*SPARSE[:2], *JOINED, {"any": ["*/5 * * * *", "*/7 * * * *", {"every": 300}]}):
        understood = parse_with_notes(schedule, "Europe/Paris", now=NOW).schedule  # type: ignore[arg-type]
        assert isinstance(understood, Recurring)
        asked: list[datetime] = []
        due = understood.timing.next_after(NOW)
        while due is not None and len(asked) < 40:
            asked.append(due)
            due = understood.timing.next_after(due)
        assert list(islice(understood.timing.due_times(NOW), 40)) == asked
