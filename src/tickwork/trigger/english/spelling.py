"""From a text to its words, spelled one way: 9.30 a.m., Mon-Fri, twenty-five, business days."""

import re
import unicodedata
from typing import NamedTuple

from tickwork.trigger.english.lexicon import MONTHS, WEEKDAYS, ordinal_of
from tickwork.trigger.misread import Misread

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


class Word(NamedTuple):
    written: str
    read: str


def words_of(text: str) -> list[Word]:
    _check_is_visible(text)
    text = text.translate(_SIGNS).strip().rstrip(".!")
    for pattern, spelling in _SAME:
        text = pattern.sub(spelling, text)
    split = [part for word in _WORD.findall(text) for part in _split(word)]
    return _with_clocks(_with_numbers(split))


def _check_is_visible(text: str) -> None:
    for at, sign in enumerate(text):
        if not sign.isspace() and unicodedata.category(sign) in ("Cc", "Cf", "Co", "Cs", "Cn"):
            raise Misread(
                f"there is a character that cannot be seen, U+{ord(sign):04X}, after {text[:at][-20:]!r}",
                "type the text anew instead of pasting it",
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
