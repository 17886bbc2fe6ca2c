import pytest

from support.schedule_reading import NOW, canonical, problem
from tickwork.model.parsed_schedule_and_preview import Once
from tickwork.schedule.parse import parse_schedule, parse_with_notes


@pytest.mark.parametrize(
    ("fields", "cron"),
    [
        ({"minute": 30}, "30 * * * *"),
        ({"hour": 9}, "0 9 * * *"),
        ({"hour": 9, "minute": 30}, "30 9 * * *"),
        ({"hour": [9, 17], "minute": [0, 30]}, "*/30 9,17 * * *"),
        ({"minute": "*/5", "hour": "9-17"}, "*/5 9-17 * * *"),
        ({"days_of_week": ["MON", "Friday", 0]}, "0 0 * * 0,1,5"),
        ({"days_of_week": "MON-FRI", "hour": 9}, "0 9 * * 1-5"),
        ({"date": 1}, "0 0 1 * *"),
        ({"date": "L", "hour": 12}, "0 12 L * *"),
        ({"month": "june"}, "0 0 1 6 *"),
        ({"month": 6, "hour": 9}, "0 9 * 6 *"),
        ({"year": 2030, "month": 7, "date": 4, "minute": 0}, "0 0 * 4 7 * 2030"),
        ({"year": 2030, "month": 7, "date": [4, 5]}, "0 0 0 4,5 7 * 2030"),
        ({"hour": 9, "minute": "", "date": " ", "days_of_week": ""}, "0 9 * * *"),
        ({"date": 13, "days_of_week": "FRI"}, "0 0 13 * 5"),
        ({"date": "*/2", "days_of_week": "MON"}, "0 0 */2 * 1"),
    ],
)
def test_a_field_left_out_is_the_first_value_below_the_finest_and_every_value_above(
    fields: dict[str, object], cron: str
) -> None:
    assert canonical({"fields": fields}) == {"cron": cron, "timezone": "UTC"}


@pytest.mark.parametrize(
    ("fields", "path", "message"),
    [
        ({}, "schedule.fields", "fields is an object"),
        ("0 9 * * *", "schedule.fields", "fields is an object"),
        ({"hours": 9}, "schedule.fields.hours", "there is no such field"),
        ({"hour": 24}, "schedule.fields", "hour: 24 is not between 0 and 23"),
        ({"hour": None}, "schedule.fields.hour", "'None' is not a number"),
        ({"hour": True}, "schedule.fields.hour", "'True' is not a number"),
        ({"hour": "9 * * *"}, "schedule.fields.hour", "'9 * * *' is not a number"),
        ({"hour": []}, "schedule.fields.hour", "give 1 to 100 values"),
        ({"hour": "", "minute": ""}, "schedule.fields", "fields is an object"),
        ({"hours": "", "minute": 5}, "schedule.fields.hours", "there is no such field"),
        ({"year": 2030, "month": 2, "date": 30}, "schedule.fields", "there is no such time: day"),
        ({"year": 2030, "month": 2, "date": 3, "hour": 25}, "schedule.fields", "there is no such time: hour"),
        ({"year": 2200, "month": 2, "date": 3}, "schedule.fields", "the year 2200 is out of range"),
    ],
)
def test_wrong_fields_are_named(fields: object, path: str, message: str) -> None:
    found = problem({"fields": fields})
    assert found.path == path
    assert message in found.message


def test_a_misspelt_field_is_told_the_right_name() -> None:
    assert problem({"fields": {"day_of_week": "MON"}}).hint == "did you mean days_of_week?"


@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({"year": 2030, "month": 7, "date": 4, "hour": 9, "minute": 30}, "2030-07-04T07:30:00+00:00"),
        ({"year": "2030", "month": "july", "date": "4", "hour": ""}, "2030-07-03T22:00:00+00:00"),
        ({"year": 2030}, "2029-12-31T23:00:00+00:00"),
        ({"year": 2030, "month": 3, "date": 31, "hour": 2, "minute": 30}, "2030-03-31T01:00:00+00:00"),
    ],
)
def test_fields_that_name_one_instant_are_due_once_so_that_no_outage_is_too_long(
    fields: dict[str, object], at: str
) -> None:
    schedule = parse_schedule({"fields": fields}, "Europe/Paris", now=NOW)
    assert isinstance(schedule, Once)
    assert schedule.at is not None
    assert schedule.at.isoformat() == at


def test_says_that_either_kind_of_day_is_enough() -> None:
    both = parse_with_notes({"fields": {"date": 13, "days_of_week": "FRI"}}, None, now=NOW)
    assert both.notes[0].startswith("a day that matches date or days_of_week is due, as in cron")
    assert parse_with_notes({"fields": {"date": 13}}, None, now=NOW).notes == ()
