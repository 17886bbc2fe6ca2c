"""What people type is understood as they mean it, or refused with a reason and a way out."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice

import pytest

from support.phrase_file import Phrase, read_phrases
from support.schedule_reading import NOW
from tickwork.model.errors import Invalid
from tickwork.model.parsed_schedule_and_preview import Once, Recurring, Timing
from tickwork.schedule.due.time_zone import zone_named, zone_names
from tickwork.schedule.parse import parse_schedule, parse_with_notes
from tickwork.schedule.preview import preview

PHRASES = list(read_phrases())
LATER = datetime(2027, 6, 1, tzinfo=UTC)
QUOTED = re.compile(r'"([^"]+)"')
UNTOLD = (
    "times the clocks skip",
    "by the rule",
    "that is",
    "if it is",
    "nearest to",
    "last day but",
    "last day",
)


def named(kinds: str) -> list[object]:
    return [pytest.param(phrase, id=phrase.name[:80]) for phrase in PHRASES if phrase.kind in kinds]


def test_there_are_many_and_each_is_there_once() -> None:
    assert len(PHRASES) > 400
    names = [phrase.name for phrase in PHRASES]
    assert sorted({name for name in names if names.count(name) > 1}) == []


@pytest.mark.parametrize("phrase", named("="))
def test_what_repeats_is_due_when_a_person_expects_it(phrase: Phrase) -> None:
    found = parse_with_notes(phrase.schedule, phrase.zone, now=NOW)
    assert isinstance(found.schedule, Recurring)
    assert tuple(local(found.schedule.timing, phrase.zone, NOW, len(phrase.times))) == phrase.times


@pytest.mark.parametrize("phrase", named("@"))
def test_what_is_due_once_is_due_when_a_person_expects_it(phrase: Phrase) -> None:
    found = parse_schedule(phrase.schedule, phrase.zone, now=NOW)
    assert isinstance(found, Once)
    assert found.at is not None
    at = found.at.astimezone(zone_named(phrase.zone or "UTC").info)
    assert (f"{at:%Y-%m-%d %H:%M:%S}",) == phrase.times


@pytest.mark.parametrize("phrase", named("=@"))
def test_what_is_read_into_the_words_is_said_back(phrase: Phrase) -> None:
    if phrase.said_back:
        warnings = preview(phrase.schedule, phrase.zone, now=NOW).warnings
        assert [warning for warning in warnings if phrase.said_back in warning]
    else:
        assert parse_with_notes(phrase.schedule, phrase.zone, now=NOW).notes == ()


@pytest.mark.parametrize("phrase", named("!"))
def test_what_is_refused_says_why_and_proposes_what_is_understood(phrase: Phrase) -> None:
    with pytest.raises(Invalid) as caught:
        parse_schedule(phrase.schedule, phrase.zone, now=NOW)
    (error,) = caught.value.errors
    assert phrase.message in error.message
    for proposal in QUOTED.findall(error.hint or ""):
        if proposal not in zone_names():
            assert parse_schedule(proposal, "Europe/Paris" if "TZ=" not in proposal else None, now=NOW)


@pytest.mark.parametrize("phrase", named("="))
def test_the_words_said_back_mean_the_same(phrase: Phrase) -> None:
    """Most of them are a sentence that is understood; none is understood as something else."""
    found = parse_schedule(phrase.schedule, phrase.zone, now=NOW)
    assert isinstance(found, Recurring)
    words = found.timing.words
    try:
        again = parse_schedule(words, None, now=NOW)
    except Invalid:
        assert any(part in words for part in UNTOLD), words
        return
    assert isinstance(again, Recurring)
    for after in (NOW, LATER):
        assert list(local(again.timing, None, after, 20)) == list(local(found.timing, None, after, 20)), words


def local(timing: Timing, zone: str | None, after: datetime, count: int) -> Iterator[str]:
    info = zone_named(zone or "UTC").info
    return (f"{at.astimezone(info):%Y-%m-%d %H:%M:%S}" for at in islice(due_times(timing, after), count))


def due_times(timing: Timing, after: datetime) -> Iterator[datetime]:
    due = timing.next_after(after)
    while due is not None:
        yield due
        due = timing.next_after(due)
