"""A struct whose fields may be left out."""

from typing import Any

import msgspec
from msgspec import UNSET


class Partial(msgspec.Struct, frozen=True, omit_defaults=True):
    def given(self, *names: str) -> dict[str, Any]:
        """The fields that were given: of the named ones, or of all."""
        fields = names or self.__struct_fields__
        return {name: value for name in fields if (value := getattr(self, name)) is not UNSET}
