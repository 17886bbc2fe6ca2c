"""Splits a sentence into words, and steps through them."""

import re
import unicodedata
from collections.abc import Callable, Container
from typing import NamedTuple, NoReturn, TypeVar

from tickwork.schedule.english.vocabulary import MONTHS, WEEKDAYS, ordinal_of
from tickwork.schedule.errors import ScheduleError

_EXAMPLES = (
    'for example "every weekday at 9am", "every 15 minutes between 9am and 5pm", '
    '"last day of the month at noon" or "tomorrow at 9"'
)
_WORD = re.compile(r"[^\s,()]+|,")
_SIGNS = str.maketrans({"–": "-", "—": "-", "−": "-", "‑": "-", "’": "'", "&": " and "})  # noqa: RUF001 (as pasted)
_SAME: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?<![a-z])([ap])\.\s?m\.?(?![a-z])", re.IGNORECASE), r"\1m"),
    (re.compile(r"\b(?:business|working|work|banking)[\s-]+(days?)\b", re.IGNORECASE), r"work\1"),
    (re.compile(r"\bweek[\s-]+(days?|ends?)\b", re.IGNORECASE), r"week\1"),
    (re.compile(r"\beveryday\b", re.IGNORECASE), "every day"),
    (re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})t([0-9]{2}:[0-9]{2})", re.IGNORECASE), r"\1 \2"),
)
_RANGE = re.compile(r"(.+?)(?:-|\.\.)(.+)")
_CLOCK = re.compile(r"[0-9]{1,2}(?:[:.][0-9]{2}){0,2}(?:am|pm)?")
_HALVED = re.compile(r"[0-9]{1,2}(?:[:.][0-9]{2})?(?:am|pm)")
_ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = (
    "ten", "eleven", "twelve", "thirteen", "fourteen",
    "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50}
_UNITS = {word: n for n, word in enumerate([*_ONES, *_TEENS], 1)}
_NUMBERS = _UNITS | _TENS | {"sixty": 60}
_HOURS, _TWO_DIGITS = range(1, 24), range(10, 60)
Found = TypeVar("Found")


class Cursor:
    def __init__(self, text: str) -> None:
        words = split_words(text)
        self.text = text
        self.written = [word.written for word in words]
        self.words = [word.read for word in words]
        self.at = 0
        self.notes: list[str] = []  # how ambiguous words were read, to show to the user

    @property
    def word(self) -> str:
        return self.ahead(0)

    @property
    def following(self) -> str:
        return self.ahead(1)

    def ahead(self, count: int) -> str:
        return self.words[self.at + count] if self.at + count < len(self.words) else ""

    @property
    def before(self) -> str:
        return self.words[self.at - 1] if self.at else ""

    @property
    def done(self) -> bool:
        return self.at >= len(self.words)

    def take(self, *words: str) -> bool:
        """Step over these words if they come next, one after the other."""
        if tuple(self.words[self.at : self.at + len(words)]) != words:
            return False
        self.at += len(words)
        return True

    def take_one_of(self, words: Container[str]) -> str | None:
        if self.done or self.word not in words:
            return None
        self.at += 1
        return self.words[self.at - 1]

    def take_list(self, read: Callable[[], Found | None]) -> list[Found]:
        """One or more of a kind: a; a and b; a, b and c. What follows an "and" may be of another kind."""
        found: list[Found] = []
        while True:
            before = self.at
            while found and self.take_one_of((",", "and", "or")):
                pass
            item = None if self.done or (found and before == self.at) else read()
            if item is None:
                self.at = before
                return found
            found.append(item)

    def remove(self, start: int, end: int) -> None:
        """Delete words from the sentence."""
        del self.words[start:end]
        del self.written[start:end]

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def fail(self, wanted: str = "") -> NoReturn:
        """Raise an error that names the word that was not understood."""
        if self.done:
            raise ScheduleError(
                f"{wanted or 'something'} is missing at the end of {self.text[:80]!r}", _EXAMPLES
            )
        expected = f"; expected {wanted}" if wanted else ""
        raise ScheduleError(
            f"did not understand {self.written[self.at][:40]!r} in {self.text[:80]!r}{expected}", _EXAMPLES
        )


class Word(NamedTuple):
    written: str
    read: str


def split_words(text: str) -> list[Word]:
    _check_is_visible(text)
    text = text.translate(_SIGNS).strip().rstrip(".!")
    for pattern, spelling in _SAME:
        text = pattern.sub(spelling, text)
    split = [part for word in _WORD.findall(text) for part in _split(word)]
    return _with_clocks(_with_numbers(split))


def _check_is_visible(text: str) -> None:
    for at, sign in enumerate(text):
        if not sign.isspace() and unicodedata.category(sign) in ("Cc", "Cf", "Co", "Cs", "Cn"):
            raise ScheduleError(
                f"there is an invisible character, U+{ord(sign):04X}, after {text[:at][-20:]!r}",
                "type the text instead of pasting it",
            )


def _split(word: str) -> list[str]:
    """Mon-Fri, 9am-5pm and sat/sun are three words; twenty-five is two."""
    sides = word.lower().split("/")
    if len(sides) > 1 and (all(side in WEEKDAYS for side in sides) or all(map(_HALVED.fullmatch, sides))):
        return word.replace("/", "/,/").split("/")
    match = _RANGE.fullmatch(word.lower())
    if not match:
        return [word]
    if match[1] in _TENS:
        return re.split("-", word, maxsplit=1)
    for is_kind in (WEEKDAYS.__contains__, MONTHS.__contains__, _CLOCK.fullmatch, ordinal_of):
        if is_kind(match[1]) and is_kind(match[2]):
            return [word[: match.end(1)], "-", word[match.start(2) :]]
    return [word]


def _with_numbers(words: list[str]) -> list[Word]:
    """Numbers from one to sixty in digits."""
    found: list[Word] = []
    for word in words:
        low = word.lower()
        before = found[-1] if found else Word("", "")
        if low in _ONES and before.written.lower() in _TENS:
            number = _TENS[before.written.lower()] + _UNITS[low]
            found[-1] = Word(f"{before.written} {word}", str(number))
        elif before.written.lower() in _TENS and (n := ordinal_of(low)) and 1 <= n <= len(_ONES):
            number = _TENS[before.written.lower()] + n
            found[-1] = Word(f"{before.written} {word}", f"{number}th")
        else:
            found.append(Word(word, str(_NUMBERS[low]) if low in _NUMBERS else low))
    return found


def _with_clocks(words: list[Word]) -> list[Word]:
    """Nine thirty, if both are written in letters, is a time of day."""
    found: list[Word] = []
    for word in words:
        before = found[-1] if found else Word("", "")
        in_letters = (
            before.written.replace(" ", "").isalpha() and before.read.isdigit() and not word.written.isdigit()
        )
        if (
            in_letters
            and word.read.isdigit()
            and int(before.read) in _HOURS
            and int(word.read) in _TWO_DIGITS
        ):
            found[-1] = Word(f"{before.written} {word.written}", f"{before.read}:{word.read}")
        else:
            found.append(word)
    return found
