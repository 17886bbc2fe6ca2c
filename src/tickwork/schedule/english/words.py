"""The words for days, months, units and numbers, and how a text is split into them."""

import re
import unicodedata
from typing import NamedTuple

from tickwork.schedule.errors import ScheduleError

_WEEKDAY_NAMES = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_MONTH_NAMES = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_ORDINAL_NAMES = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth",
    "eighteenth", "nineteenth", "twentieth",
)  # fmt: skip

WEEKDAYS = {short: n for n, name in enumerate(_WEEKDAY_NAMES) for short in (name, name[:3], f"{name}s")}
WEEKDAYS |= {"tues": 2, "weds": 3, "thur": 4, "thurs": 4}
_WORKDAYS, _WEEKEND = (1, 2, 3, 4, 5), (6, 0)
WORKDAY_NAMES = ("workday", "workdays")
WEEKDAY_GROUPS: dict[str, tuple[int, ...]] = dict.fromkeys(("weekday", "weekdays", *WORKDAY_NAMES), _WORKDAYS)
WEEKDAY_GROUPS |= dict.fromkeys(("weekend", "weekends"), _WEEKEND)
MONTHS = {short: n for n, name in enumerate(_MONTH_NAMES, 1) for short in (name, name[:3])} | {"sept": 9}
LAST = -1
ORDINALS = {name: n for n, name in enumerate(_ORDINAL_NAMES, 1)} | {"thirtieth": 30, "last": LAST}
ARTICLES = ("a", "an")
RANGE_WORDS = ("to", "-", "through", "thru", "until", "till")
UNITS = {
    "second": "second", "sec": "second", "s": "second",
    "minute": "minute", "min": "minute", "m": "minute",
    "hour": "hour", "hr": "hour", "h": "hour",
    "day": "day", "d": "day",
    "week": "week", "wk": "week", "w": "week", "fortnight": "fortnight",
    "month": "month", "quarter": "quarter", "year": "year", "yr": "year",
}  # fmt: skip
SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800, "fortnight": 1_209_600}
SUB_DAY_UNITS = ("second", "minute", "hour")
FREQUENCY_ADVERBS = {
    "minutely": "minute",
    "hourly": "hour",
    "daily": "day",
    "weekly": "week",
    "fortnightly": "fortnight",
    "monthly": "month",
    "quarterly": "quarter",
    "yearly": "year",
    "annually": "year",
}
AMBIGUOUS_ADVERBS = {
    "biweekly": 'say "every 2 weeks on monday" or "every monday and thursday"',
    "semiweekly": 'say which days: "every monday and thursday"',
    "bimonthly": 'say "every 2 months on the 1st" or "on the 1st and 15th of every month"',
    "semimonthly": 'say which days: "on the 1st and 15th of every month"',
    "biannually": 'say "every 2 years on january 1" or "every 6 months on the 1st"',
    "semiannually": 'say which days: "every 6 months on the 1st"',
    "biennially": 'say which day: "every 2 years on january 1"',
}

_NTH = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th)")
_COMPACT = re.compile(r"([0-9]{1,6})([a-z]+)")
_ISO = re.compile(r"p(?:[0-9]{1,6}[ymwd])*(?:t(?:[0-9]{1,6}[hms])+)?")
_ISO_PART = re.compile(r"([0-9]{1,6})([ymwdhs])")
_ISO_DATE = {"y": "year", "m": "month", "w": "week", "d": "day"}
_ISO_TIME = {"h": "hour", "m": "minute", "s": "second"}
_FRACTION = re.compile(r"[0-9]{1,4}\.[0-9]{1,3}")


class Amount(NamedTuple):
    number: int
    unit: str


def weekdays_from(first: int, last: int) -> tuple[int, ...]:
    """Friday to monday goes over the end of the week."""
    return tuple((first + day) % 7 for day in range((last - first) % 7 + 1))


def unit_of(word: str) -> str | None:
    return UNITS.get(word) or UNITS.get(word.removesuffix("s"))


def number_of(word: str) -> int | None:
    return int(word) if word.isascii() and word.isdigit() and len(word) <= 6 else None  # noqa: PLR2004


def ordinal_of(word: str) -> int | None:
    match = _NTH.fullmatch(word)
    return int(match[1]) if match else ORDINALS.get(word)


def fraction_of(word: str, unit: str) -> Amount | None:
    """1.5 hours, as whole seconds."""
    if not _FRACTION.fullmatch(word) or unit not in SECONDS:
        return None
    whole, _, part = word.partition(".")
    seconds, rest = divmod(int(whole + part) * SECONDS[unit], 10 ** len(part))
    if rest:
        raise ScheduleError(f"{word} {unit}s is not a whole number of seconds", 'such as "every 90 seconds"')
    return Amount(seconds, "second")


def compact_amounts(word: str) -> list[Amount] | None:
    """1h30m, 90s, 15min, PT5M."""
    if word.startswith("p"):
        return _iso_amounts(word)
    found = [(count, unit_of(unit)) for count, unit in _COMPACT.findall(word)]
    if not found or _COMPACT.sub("", word) or any(unit is None for _, unit in found):
        return None
    return [Amount(int(count), unit) for count, unit in found if unit]


def _iso_amounts(word: str) -> list[Amount] | None:
    if not _ISO.fullmatch(word):
        return None
    dated, _, timed = word[1:].partition("t")
    found = [Amount(int(count), _ISO_DATE[unit]) for count, unit in _ISO_PART.findall(dated)]
    found += [Amount(int(count), _ISO_TIME[unit]) for count, unit in _ISO_PART.findall(timed)]
    return found or None


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
