"""Answers of the REST API that are nothing but answers."""

from typing import Any

import msgspec

from tickwork.model.errors import FieldError
from tickwork.model.tenancy import KeyView


class Problem(msgspec.Struct, frozen=True):
    """An error as RFC 9457 tells it."""

    type: str = ""
    title: str = ""
    detail: str = ""
    errors: list[dict[str, Any]] = []
    request_id: str | None = None

    @property
    def fields(self) -> list[FieldError]:
        return [FieldError(e.get("path", ""), e.get("message", ""), e.get("hint")) for e in self.errors]


class NewKey(KeyView, frozen=True, kw_only=True):
    """A key just made: the only time that its secret is told."""

    secret: str
