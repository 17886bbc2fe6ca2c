"""A ping that could not work is refused, with every bad field and the fix."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tickwork.model.errors import Invalid
from tickwork.model.ping import PingRequest
from tickwork.ping.compile_ping import checked_name, compile_ping

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


def errors(**fields: Any) -> dict[str, str]:
    with pytest.raises(Invalid) as raised:
        compile_ping("backup", PingRequest(**{"schedule": "every 1h", **fields}), NOON)
    return {error.path: error.message for error in raised.value.errors}


def test_names_every_bad_field_at_once() -> None:
    assert set(errors(schedule="every blue moon", grace="soon")) == {"schedule", "grace"}


@pytest.mark.parametrize("schedule", ["in 10m", "2026-12-24T12:00:00Z"])
def test_is_expected_again_and_again(schedule: str) -> None:
    assert "again and again" in errors(schedule=schedule)["schedule"]


@pytest.mark.parametrize("schedule", ["every 1s", {"rrule": "FREQ=SECONDLY;INTERVAL=5"}])
def test_is_not_expected_more_often_than_it_may_report(schedule: object) -> None:
    assert "10 s apart" in errors(schedule=schedule)["schedule"]


@pytest.mark.parametrize("option", [{"jitter": "1m"}, {"max_runs": 5}])
def test_takes_no_options_that_make_sense_only_for_jobs(option: dict[str, object]) -> None:
    (name,) = option
    assert "not for pings" in errors(schedule={"every": "1h", **option})[f"schedule.{name}"]


@pytest.mark.parametrize("grace", [0, "400d"])
def test_the_grace_has_bounds(grace: object) -> None:
    assert "between 1 s and 366 days" in errors(grace=grace)["grace"]


@pytest.mark.parametrize("name", ["", "a b", "a/b", "-a", "x" * 101])
def test_a_name_fits_into_a_url(name: str) -> None:
    with pytest.raises(Invalid, match="letters, digits"):
        checked_name(name)
