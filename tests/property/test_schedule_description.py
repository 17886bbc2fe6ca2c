"""The words said back for a schedule are understood as the same schedule, or not at all."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tickwork.model.errors import Invalid
from tickwork.model.parsed_schedule_and_preview import Recurring, Timing
from tickwork.schedule.parse import parse_schedule

NOW = datetime(2026, 3, 4, 10, 30, tzinfo=UTC)
# Without changes of the clocks: what becomes of times they skip or repeat is told only where it was chosen.
ZONES = ["UTC", "Africa/Lagos", "America/Phoenix", "Asia/Kolkata"]
AFTER = (NOW, datetime(2026, 10, 20, tzinfo=UTC), datetime(2028, 2, 20, tzinfo=UTC))


def field(low: int, high: int, *more: str) -> st.SearchStrategy[str]:
    numbers = st.integers(low, high)
    ranges = st.tuples(numbers, numbers).map(lambda pair: f"{min(pair)}-{max(pair)}")
    steps = st.integers(2, 12).map(lambda step: f"*/{step}")
    lists = st.lists(numbers, min_size=1, max_size=4).map(lambda found: ",".join(map(str, found)))
    return st.one_of(st.just("*"), lists, ranges, steps, *map(st.just, more))


crons = st.tuples(
    field(0, 59),
    field(0, 23),
    field(1, 31, "L", "LW", "1W", "L-3", "15W"),
    field(1, 12),
    field(0, 6, "1#2", "5L"),
).map(" ".join)
codes = st.lists(st.sampled_from(["MO", "TU", "FR", "SU"]), min_size=1, max_size=2, unique=True).map(",".join)
rules = st.one_of(
    st.builds("FREQ=WEEKLY;INTERVAL={};BYDAY={};BYHOUR=9".format, st.integers(1, 4), codes),
    st.builds(
        "FREQ=MONTHLY;INTERVAL={};BYMONTHDAY={};BYHOUR=9".format,
        st.integers(1, 7),
        st.integers(-3, 31).filter(bool),
    ),
    st.builds(
        "FREQ=MONTHLY;INTERVAL={};BYDAY=2{};BYHOUR=9".format, st.integers(1, 7), st.sampled_from(["MO", "FR"])
    ),
    st.builds("FREQ=DAILY;INTERVAL={};BYHOUR={}".format, st.integers(1, 9), st.integers(0, 23)),
    st.builds(
        "FREQ=YEARLY;INTERVAL={};BYMONTH=6;BYMONTHDAY={};BYHOUR=9".format,
        st.integers(1, 3),
        st.integers(1, 30),
    ),
)
kinds = st.one_of(
    crons.map(lambda cron: {"cron": cron}),
    rules.map(lambda rule: {"rrule": rule}),
    st.integers(1, 200_000).map(lambda every: {"every": every}),
)
options = st.fixed_dictionaries(
    {},
    optional={
        "start": st.sampled_from(["2026-03-10", "2026-04-02T10:30", "2026-05-31T23:00"]),
        "end": st.sampled_from(["2027-03-10", "2031-04-02T10:30"]),
        "exclude": st.sampled_from(
            [{"weekends": True}, {"dates": ["2026-03-12", "2026-04-01"]}, {"holidays": ["FR"]}]
        ),
    },
)
single: st.SearchStrategy[dict[str, Any]] = st.builds(lambda kind, option: {**kind, **option}, kinds, options)
schedules = st.one_of(single, st.lists(single, min_size=2, max_size=3).map(lambda parts: {"any": parts}))


@settings(max_examples=300, deadline=None)
@given(schedules, st.sampled_from(ZONES))
def test_words_are_understood_as_what_they_describe(schedule: dict[str, Any], zone: str) -> None:
    try:
        found = parse_schedule(schedule, zone, now=NOW)
    except Invalid:
        return
    assert isinstance(found, Recurring)
    try:
        again = parse_schedule(found.timing.words, None, now=NOW)
    except Invalid:
        return
    assert isinstance(again, Recurring)
    assert due(again.timing) == due(found.timing), found.timing.words


def due(timing: Timing) -> list[datetime | None]:
    found: list[datetime | None] = []
    for after in AFTER:
        at: datetime | None = after
        for _ in range(12):
            at = timing.next_after(at) if at else None
            found.append(at)
    return found
