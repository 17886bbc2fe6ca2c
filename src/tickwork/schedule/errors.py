"""Errors in a schedule: what was not understood, field by field, reported together."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import ParamSpec, TypeVar

from tickwork.model.errors import FieldError, Invalid


class ScheduleError(ValueError):
    """What is wrong with a schedule, and what would be right. The caller adds the name of the field.

    `path_suffix` is the place within that field, such as ".hour"."""

    def __init__(self, message: str, hint: str | None = None, path_suffix: str = "") -> None:
        self.message, self.hint, self.path_suffix = message, hint, path_suffix
        super().__init__(message)


_MOST = 20  # nobody reads more
Given = ParamSpec("Given")
Read = TypeVar("Read")


class ScheduleProblems:
    def __init__(self) -> None:
        self.found: list[FieldError] = []

    def add(self, path: str, message: str, hint: str | None = None) -> None:
        self.found.append(FieldError(path, message, hint))

    def attempt(
        self, path: str, read: Callable[Given, Read], *args: Given.args, **kwargs: Given.kwargs
    ) -> Read | None:
        """The result of `read`; if it raises, None and one more problem with the field."""
        try:
            return read(*args, **kwargs)
        except ScheduleError as error:
            self.add(f"{path}{error.path_suffix}", error.message, error.hint)
            return None

    def check_names(self, path: str, given: Iterable[object], known: Iterable[str]) -> None:
        known = tuple(known)
        for name in given:
            if name not in known and len(self.found) < _MOST:
                near = get_close_matches(str(name)[:40], known, 1)
                hint = f"did you mean {near[0]}?" if near else f"the fields are {', '.join(known)}"
                self.add(f"{path}.{str(name)[:40]}", "there is no such field", hint)

    def raise_any(self) -> None:
        if self.found:
            raise Invalid(self.found)
