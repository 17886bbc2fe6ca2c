"""The words of a text, as searches know them: letters and digits, whatever their case."""

import re
from collections.abc import Iterable

SHORTEST_BEGINNING = 3  # letters of a word that are enough to find it
_WORD = re.compile(r"[^\W_]+")


def words_of(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def is_beginning(word: str) -> bool:
    """Whether it also finds longer words. Words with digits are found only as a whole: `1` would find too many keys."""
    return len(word) >= SHORTEST_BEGINNING and word.isalpha()


def has_words(there: Iterable[str], wanted: Iterable[str]) -> bool:
    """Whether each wanted word is there, or the beginning of one that is."""
    there = set(there)
    return all(
        word in there
        or (is_beginning(word) and any(other.startswith(word) and other.isalpha() for other in there))
        for word in wanted
    )
