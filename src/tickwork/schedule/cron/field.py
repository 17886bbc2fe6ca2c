"""One field of a cron expression: text to a set of numbers and back."""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from tickwork.schedule.due.calendar_bit_masks import mask_of, numbers_in
from tickwork.schedule.errors import ScheduleError

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")

Spread = Callable[[str, int], int]  # the name of a field and a count → a number below the count


class Field(NamedTuple):
    name: str
    low: int
    high: int
    names: Mapping[str, int] = {}
    highest_spread: int | None = None  # the highest value for H, if not `high`

    def read(self, text: str, spread: Spread) -> int:
        """The numbers a comma list stands for: `5`, `MON`, `1-5`, `*`, `*/15`, `3/10`, `H`, `H(0-29)/10`."""
        mask = 0
        for item in text.split(","):
            mask |= self._item(item, spread)
        return mask

    def number(self, text: str) -> int:
        value = self.names.get(text)
        if value is None:
            if not (text.isascii() and text.isdigit()):
                raise ScheduleError(f"{self.name}: {text[:40]!r} is not {self._expected}")
            value = int(text[:6])
        if not self.low <= value <= self.high:
            raise ScheduleError(f"{self.name}: {value} is not between {self.low} and {self.high}")
        return value

    def _item(self, item: str, spread: Spread) -> int:
        base, slash, step_text = item.partition("/")
        step = self._step(step_text) if slash else 1
        if base.startswith("H"):
            return self._spread(base, step if slash else 0, spread)
        low, high = self._range(base, open_end=bool(slash))
        return _grid(low, high, step)

    def _step(self, text: str) -> int:
        step = int(text[:6]) if text.isascii() and text.isdigit() else 0
        if not 1 <= step <= self.high - self.low:
            longest = self.high - self.low
            longer = step > longest and self in (SECOND, MINUTE, HOUR)
            hint = f'for longer periods write "every {step} {self.name}s"' if longer else None
            raise ScheduleError(f"{self.name}: the step {text[:40]!r} is not between 1 and {longest}", hint)
        return step

    def _range(self, text: str, *, open_end: bool) -> tuple[int, int]:
        if text == "*":
            return self.low, self.high
        first, dash, last = text.partition("-")
        low = self.number(first)
        if not dash:
            return low, self.high if open_end else low
        high = self.number(last)
        if last == "SUN" and low > high:
            high = self.high  # the end of a week that begins on another day
        if high < low:
            raise ScheduleError(
                f"{self.name}: the range {text[:40]!r} runs backwards",
                f'write "{first}-{self.high},{self.low}-{last}"',
            )
        return low, high

    def _spread(self, text: str, step: int, spread: Spread) -> int:
        low, high = self.low, self.highest_spread or self.high
        if text != "H":
            if not (text.startswith("H(") and text.endswith(")")):
                raise ScheduleError(f"{self.name}: {text[:40]!r} is not H, H(low-high) or H/step")
            low, high = self._range(text[2:-1], open_end=False)
        if not step:
            return 1 << low + spread(self.name, high - low + 1)
        return mask_of(range(low + spread(self.name, min(step, high - low + 1)), high + 1, step))

    @property
    def _expected(self) -> str:
        named = f" or a name such as {next(iter(self.names))}" if self.names else ""
        return f"a number from {self.low} to {self.high}{named}"


SECOND = Field("second", 0, 59)
MINUTE = Field("minute", 0, 59)
HOUR = Field("hour", 0, 23)
DATE = Field("day of month", 1, 31, highest_spread=28)
MONTH = Field("month", 1, 12, {name: number for number, name in enumerate(_MONTHS, 1)})
WEEKDAY = Field(
    "day of week", 0, 7, {name: number for number, name in enumerate(_WEEKDAYS)}, highest_spread=6
)
NTH = Field("which weekday of the month", 1, 5)
YEAR = Field("year", 1970, 2099)


def write(numbers: int, field: Field) -> str:
    """The shortest text for the numbers, with a star if they fill the field evenly."""
    starred = write_starred(numbers, field)
    return write_list(numbers) if starred is None or "," in starred else starred


def write_starred(numbers: int, field: Field) -> str | None:
    """A text for the numbers that begins with a star, or None."""
    for step in range(1, field.high - field.low + 1):
        grid = _grid(field.low, field.high, step)
        if numbers & grid == grid:
            star = "*" if step == 1 else f"*/{step}"
            return ",".join([star, *_runs(numbers_in(numbers & ~grid))])
    return None


@lru_cache(maxsize=4096)  # bounded, because users choose the ranges
def _grid(low: int, high: int, step: int) -> int:
    return mask_of(range(low, high + 1, step))


def write_list(numbers: int) -> str:
    return ",".join(_runs(numbers_in(numbers)))


def _runs(numbers: list[int]) -> Iterator[str]:
    """Evenly spaced neighbours as ranges: 1-5, 0-50/10."""
    while numbers:
        length = _run_length(numbers)
        step = numbers[1] - numbers[0] if length > 1 else 1
        if length < (3 if step == 1 else 4):
            yield str(numbers.pop(0))
            continue
        yield f"{numbers[0]}-{numbers[length - 1]}" + (f"/{step}" if step > 1 else "")
        numbers = numbers[length:]


def _run_length(numbers: list[int]) -> int:
    length = 1
    while length < len(numbers) and numbers[length] - numbers[length - 1] == numbers[1] - numbers[0]:
        length += 1
    return length
