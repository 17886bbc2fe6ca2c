"""The dashboard says what each kind of event means."""

import re
from pathlib import Path

from tickwork.model.stream_event import EventKind

_MEANINGS = Path(__file__).parents[2] / "dashboard/src/events/eventKinds.ts"


def test_every_kind_of_event_has_its_meaning_on_the_events_page() -> None:
    explained = re.findall(r'^  "([a-z]+\.[a-z]+)": \{ words:', _MEANINGS.read_text(), re.MULTILINE)
    assert sorted(explained) == sorted(EventKind)
