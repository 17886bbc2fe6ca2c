import pytest

from support.schedule_reading import canonical, problem


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
        ({"year": 2030}, "0 0 0 1 1 * 2030"),
        ({"year": 2030, "month": 7, "date": 4, "hour": 9, "minute": 0}, "0 0 9 4 7 * 2030"),
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
        ({"date": 13, "days_of_week": "FRI"}, "schedule.fields", "can mean both or either"),
    ],
)
def test_wrong_fields_are_named(fields: object, path: str, message: str) -> None:
    found = problem({"fields": fields})
    assert found.path == path
    assert message in found.message


def test_a_misspelt_field_is_told_the_right_name() -> None:
    assert problem({"fields": {"day_of_week": "MON"}}).hint == "did you mean days_of_week?"
