"""A position in a sentence, for reading it word by word."""

from collections.abc import Callable, Container
from typing import NoReturn, TypeVar

from tickwork.schedule.english.words import split_words
from tickwork.schedule.errors import ScheduleError

_EXAMPLES = (
    'for example "every weekday at 9am", "every 15 minutes between 9am and 5pm", '
    '"last day of the month at noon" or "tomorrow at 9"'
)
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
