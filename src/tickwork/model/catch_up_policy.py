"""What to do about due times that passed while no server was running."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from tickwork.model.field_types import Duration
from tickwork.model.quantities import parse_duration


class CatchUp(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What to do about due times that passed while no server was running."""

    policy: Literal["latest", "skip", "all"] = "latest"
    within: Duration = "1h"
    max: Annotated[int, Meta(ge=1, le=10_000)] = 100

    def in_seconds(self) -> "CatchUpView":
        return CatchUpView(self.policy, parse_duration(self.within).total_seconds(), self.max)

    def text(self) -> str:
        """Equal policies have equal texts, so that their jobs share a rule."""
        within = parse_duration(self.within).total_seconds()
        return msgspec.json.encode(
            msgspec.structs.replace(self, within=within), order="deterministic"
        ).decode()


class CatchUpView(msgspec.Struct, frozen=True):
    """A catch-up policy as shown to users, in seconds."""

    policy: Literal["latest", "skip", "all"] = "latest"
    within: float = 3600.0
    max: int = 100
