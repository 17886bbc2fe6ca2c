"""Values as people read them."""

from datetime import UTC, datetime, timedelta

import pytest

from tickwork.cli.output import brief, relative

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "now"),
        (0.4, "now"),
        (5, "in 5s"),
        (-59, "59s ago"),
        (60, "in 1m"),
        (-7199, "1h ago"),
        (86_400 * 3, "in 3d"),
    ],
)
def test_times_are_seen_from_now(seconds, text):
    assert relative(NOW + timedelta(seconds=seconds), NOW) == text


def test_a_list_shows_everything_on_one_line():
    assert brief("two\nlines\tand more") == "two lines and more"
    assert brief(["a", "b"]) == "a, b"
    assert brief(None) == ""


@pytest.mark.parametrize("name", ["\x1b[2J", "\x07", "\u202egnp.exe", "\x9b31m"])
def test_what_would_steer_a_terminal_is_shown_instead(name):
    assert name not in brief(name)
    assert brief(name).isprintable()


def test_names_in_other_scripts_are_left_alone():
    assert brief("日次レポート Zürich 🎉") == "日次レポート Zürich 🎉"
