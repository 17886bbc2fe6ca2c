"""The terms of a job: what it is found by. A term is known by its hash.

A word is found by its beginning: for the letters of `reports` there are terms from `rep` to `reports`, so that `report`
finds it. Words with digits, such as the parts of keys, are found only as a whole: there are as many of them as jobs.

When a job is due is a term, too: the hour of a one-time job, and of a recurring one its rule, which knows the time.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import NamedTuple

from tickwork.model.search_words import SHORTEST_BEGINNING, is_beginning, words_of

ALL = "all"
RECURRING, ONCE = "recurring", "once"
_LONGEST_BEGINNING = 8  # letters that there are terms for
STATUSES = ("paused", "cancelled", "completed", "failed", "skipped")  # that have terms; the others are active


class JobText(NamedTuple):
    """What a job is found by, except for its status."""

    queue: str
    task: str
    name: str | None
    key: str | None
    tags: Sequence[str]
    owner: str | None
    description: str | None

    def words(self) -> set[str]:
        texts = (self.name, self.key, self.task, *self.tags, self.description)
        return {*words_of(" ".join(filter(None, texts)))}

    def hashes(self) -> set[int]:
        """Of all terms of its texts."""
        found = {*hashes_of_lane(self.queue, self.task)}
        found.update(term_hash("tag", tag) for tag in self.tags)
        found.update(*map(hashes_of_word, self.words()))
        if self.owner is not None:
            found.add(term_hash("owner", self.owner))
        return found


def hashes_of_lane(queue: str, task: str) -> tuple[int, ...]:
    prefixes = (term_hash("under", prefix) for prefix in _prefixes(task))
    return (term_hash("queue", queue), term_hash("task", task), *prefixes)


def hashes_of_word(word: str) -> tuple[int, ...]:
    if not is_beginning(word):
        return (term_hash("word", word),)
    longest = min(len(word), _LONGEST_BEGINNING)
    return tuple(term_hash("start", word[:end]) for end in range(SHORTEST_BEGINNING, longest + 1))


def word_hash(word: str) -> int:
    """To look for a word, or for the beginning of one."""
    return term_hash("start", word[:_LONGEST_BEGINNING]) if is_beginning(word) else term_hash("word", word)


def hash_of_due(rule_id: int | None, scheduled_for: datetime | None) -> int | None:
    """None: a job that was changed before its due time was noted with the change."""
    if rule_id is not None:
        return rule_hash(rule_id)
    return None if scheduled_for is None else hour_hash(hour_of(scheduled_for))


def rule_hash(rule_id: int) -> int:
    return term_hash("rule", str(rule_id))


def hour_hash(hour: int) -> int:
    return term_hash("hour", str(hour))


def hour_of(at: datetime) -> int:
    """Hours since 1970."""
    return int(at.timestamp() // 3600)


def term_hash(kind: str, value: str = "") -> int:
    """Of 63 bits."""
    digest = blake2b(f"{kind}:{value}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def _prefixes(task: str) -> Iterator[str]:
    """`reports.` and `reports.weekly.` of `reports.weekly.eu`."""
    for place, character in enumerate(task):
        if character == ".":
            yield task[: place + 1]
