"""Gathers what many jobs have in common, so that terms are made once for all of them and not for each."""

from collections import defaultdict
from collections.abc import Iterator

import asyncpg

from tickwork.model.search_words import words_of
from tickwork.store.job_index.terms import (
    ALL,
    ONCE,
    RECURRING,
    STATUSES,
    hashes_of_lane,
    hashes_of_word,
    hour_hash,
    rule_hash,
    term_hash,
)


class JobTraits:
    """The places of the jobs of a segment by what they have."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[int, bool, str], list[int]] = defaultdict(list)
        self._lanes: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._tags: dict[str, list[int]] = defaultdict(list)
        self._owners: dict[str, list[int]] = defaultdict(list)
        self._words: dict[str, list[int]] = defaultdict(list)
        self._due: list[tuple[int, list[int]]] = []

    def add(self, row: asyncpg.Record) -> None:
        """Jobs that are alike, with their places."""
        priority, once, status, name, key, tags, owner, description, places, queue, task = row[2:]
        self._kinds[priority, once, status] += places
        self._lanes[queue, task] += places
        for tag in tags:
            self._tags[tag] += places
        if owner is not None:
            self._owners[owner] += places
        if name or key or description:
            self._add_words(f"{name or ''} {key or ''} {description or ''}", places)

    def add_due(self, row: asyncpg.Record) -> None:
        """Jobs of one rule, or one-time jobs of one hour, with their places."""
        due = hour_hash(row["hour"]) if row["rule_id"] is None else rule_hash(row["rule_id"])
        self._due.append((due, row["places"]))

    def terms(self) -> Iterator[tuple[tuple[int, ...], list[int]]]:
        """Terms, and the places of the jobs that have them."""
        for kind, found in self._kinds.items():
            yield hashes_of_kind(*kind), found
        for (queue, task), found in self._lanes.items():
            yield hashes_of_lane(queue, task), found
            self._add_words(task, found)
        for tag, found in self._tags.items():
            yield (term_hash("tag", tag),), found
            self._add_words(tag, found)
        for owner, found in self._owners.items():
            yield (term_hash("owner", owner),), found
        for word, found in self._words.items():
            yield hashes_of_word(word), found
        for due, found in self._due:
            yield (due,), found

    def _add_words(self, text: str, found: list[int]) -> None:
        for word in set(words_of(text)):
            self._words[word] += found


def hashes_of_kind(priority: int, once: bool, status: str) -> tuple[int, ...]:
    """What every job has: its priority, whether it is due one time, and its status, if that is out of the ordinary."""
    named = (term_hash("status", status),) if status in STATUSES else ()
    return (
        term_hash(ALL),
        term_hash(ONCE if once else RECURRING),
        term_hash("priority", str(priority)),
        *named,
    )
