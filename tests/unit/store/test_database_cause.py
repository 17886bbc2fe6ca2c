"""What is wrong with the database is named, without the names and addresses that an error may contain."""

import asyncpg
import pytest
from structlog.testing import capture_logs

from tickwork.store.database_errors import Condition, PoolExhausted, cause_of


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (asyncpg.DiskFullError("could not extend file base/5/1259"), "has no space left on its disk"),
        (asyncpg.TooManyConnectionsError("too many clients"), "has no connection to spare"),
        (asyncpg.ReadOnlySQLTransactionError(), "takes no writes: it is a standby, or was made read-only"),
        (PoolExhausted("none of 8"), "is too slow: no connection of this server became free"),
        (TimeoutError(), "does not answer in time"),
        (ConnectionRefusedError("10.0.0.1"), "cannot be reached"),
    ],
)
def test_each_error_has_its_cause(error: Exception, cause: str) -> None:
    assert cause_of(error) == cause


def test_the_cause_of_an_error_is_found_behind_the_one_that_wraps_it() -> None:
    error = ConnectionRefusedError("10.0.0.1: too many clients")
    error.__cause__ = asyncpg.TooManyConnectionsError("too many clients")
    assert cause_of(error) == "has no connection to spare"


def test_one_line_is_logged_for_each_cause_however_often_it_comes() -> None:
    condition = Condition()
    with capture_logs() as logs:
        for _ in range(10):
            told = condition.failed(asyncpg.DiskFullError("disk full"))
            condition.failed(TimeoutError())
    assert [line["event"] for line in logs] == [
        "database unavailable: it has no space left on its disk",
        "database unavailable: it does not answer in time",
    ]
    assert told.cause == "has no space left on its disk"
    assert not condition.stores


def test_more_is_said_of_a_database_that_cannot_be_reached_if_more_is_known() -> None:
    condition = Condition()
    condition.explain = lambda: "has no space left on its disk"
    assert condition.failed(ConnectionRefusedError()).cause == "has no space left on its disk"
    assert condition.failed(TimeoutError()).cause == "does not answer in time"
