"""Which channels are told of something, and because of which entry or rule."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from tickwork.store.port.notify import Entry, ToldRule


class Match(NamedTuple):
    channel: str
    rule: ToldRule | None = None  # None: the job says so itself
    is_silenced: bool = False


def matches(
    word: str, own: Sequence[Entry], rules: Sequence[ToldRule], tags: Collection[str], queue: str | None
) -> Iterator[Match]:
    """What the job says itself comes first. An entry without channels silences the rules, not the other entries."""
    is_silenced = False
    for entry in own:
        if word in entry.on:
            is_silenced |= not entry.to
            yield from map(Match, entry.to)
    for rule in rules:
        if word in rule.kinds and rule.covers(tags, queue):
            for channel in rule.channels:
                yield Match(channel, rule, is_silenced)
