"""Everything wrong with a schedule, field by field, to be told at once."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import ParamSpec, TypeVar

from tickwork.model.errors import FieldError, Invalid
from tickwork.trigger.misread import Misread

_MOST = 20  # nobody reads more
Given = ParamSpec("Given")
Read = TypeVar("Read")


class Problems:
    def __init__(self) -> None:
        self.found: list[FieldError] = []

    def add(self, path: str, message: str, hint: str | None = None) -> None:
        self.found.append(FieldError(path, message, hint))

    def attempt(
        self, path: str, read: Callable[Given, Read], *args: Given.args, **kwargs: Given.kwargs
    ) -> Read | None:
        """What was read, or None and one more problem with the field."""
        try:
            return read(*args, **kwargs)
        except Misread as misread:
            self.add(f"{path}{misread.below}", misread.message, misread.hint)
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
