"""How the jobs ended that an execution depends on, as its task sees them."""

from typing import Any

import msgspec

from tickwork.model.execution import ExecutionStatus


class ParentOutcome(msgspec.Struct, array_like=True, frozen=True):
    job_id: str
    name: str | None
    key: str | None
    task: str
    status: ExecutionStatus | None  # None: it is no longer known
    result: Any  # JSON


_decode = msgspec.json.Decoder(list[ParentOutcome] | int | str).decode


def read_outcomes(sent: bytes | None) -> list[ParentOutcome]:
    if sent is None:
        return []
    match _decode(sent):
        case int(size):
            raise ValueError(
                f"the results of the jobs it depends on have {size:,} bytes, too many to be handed over: "
                "let them return references, or ask for them with a client"
            )
        case str(why):
            raise ValueError(why)
        case list(outcomes):
            return outcomes
    return []
