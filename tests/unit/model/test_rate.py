"""Rates as people write them."""

from datetime import timedelta

import pytest

from tickwork.model.quantities import parse_rate


@pytest.mark.parametrize(
    ("text", "interval"),
    [
        ("10/s", timedelta(milliseconds=100)),
        ("100/1m", timedelta(milliseconds=600)),
        ("1/30s", timedelta(seconds=30)),
        (" 4 / h ", timedelta(minutes=15)),
        ("2/PT1H", timedelta(minutes=30)),
        ("1/d", timedelta(days=1)),
    ],
)
def test_is_so_many_in_so_long(text, interval):
    assert parse_rate(text).interval == interval


@pytest.mark.parametrize(
    "text", ["", "10", "10/", "/s", "ten/s", "10/fortnight", "-1/s", "1.5/s", "10/s/s", "1/" + "9" * 50]
)
def test_anything_else_is_told_how_to_write_one(text):
    with pytest.raises(ValueError, match='is not a rate; write how many in how long, such as "10/s"'):
        parse_rate(text)


@pytest.mark.parametrize("text", ["0/s", "1/0s", "1/2d"])
def test_nothing_at_all_is_no_rate(text):
    with pytest.raises(ValueError, match="at least 1 in a time of up to a day"):
        parse_rate(text)
