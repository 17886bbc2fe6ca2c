"""What a job asks for besides its queue and its task: where it can run, how many at once, whose share it uses."""

from collections.abc import Iterator, Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from tickwork.model.errors import FieldError
from tickwork.model.field_types import Name
from tickwork.model.quantities import parse_rate, parse_size

Key = Annotated[str, Meta(min_length=1, max_length=200)]
Amount = Annotated[float, Meta(ge=0, le=1e15)]
Size = Annotated[
    str | float, Meta(description='a size: "512Mi", "8Gi", "1.5G" or bytes', extra={"kind": "size"})
]
NamedAmounts = Annotated[dict[Key, Amount], Meta(max_length=20)]
Labels = Annotated[dict[Key, Annotated[str, Meta(max_length=200)]], Meta(max_length=20)]
SIZES = ("memory", "storage")


class Requires(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a worker must have free, and be, to run a job."""

    cpu: Amount = 0.0
    memory: Size = 0.0
    storage: Size = 0.0
    gpu: Amount = 0.0
    custom: NamedAmounts = {}
    labels: Labels = {}
    worker: Annotated[Name, Meta(description="the name of the only worker that may run it")] | None = None

    def resources(self) -> dict[str, float]:
        """The amounts that are not zero."""
        named = {
            "cpu": self.cpu,
            "memory": parse_size(self.memory),
            "storage": parse_size(self.storage),
            "gpu": self.gpu,
            **self.custom,
        }
        return {name: amount for name, amount in named.items() if amount}


class Limit(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """How many executions may run at once, or start in a period, under a key that jobs share."""

    key: Key
    max_running: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    rate: Annotated[str, Meta(max_length=40)] | None = None


class FairShare(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The fair share that a job counts towards, and its weight relative to the others."""

    key: Key
    weight: Annotated[float, Meta(ge=0.01, le=1000)] = 1.0


Limits = Annotated[list[Limit], Meta(max_length=5)]


class Placement(msgspec.Struct, frozen=True, omit_defaults=True):
    """What identifies a lane besides its tenant, queue and task. Equal placements have equal texts."""

    resources: dict[str, float] = {}
    labels: dict[str, str] = {}
    limits: list[Limit] = []
    fair_share: FairShare | None = None
    tells_completion: bool = False  # that an execution completes is an event, because somebody is told of it
    start_within: float | None = None  # seconds after its due time; then an execution is no longer of use
    deadline: str | None = None  # the text of a Deadline
    fans_out: bool = False  # no worker runs it: it becomes a job for each element of a list
    worker: str | None = None  # the name of the only worker that may run it
    awaits_task: bool = (
        False  # no worker runs it yet: nobody has described its task, so its payload is unchecked
    )
    program: str | None = None  # of a command: only workers that allow it run it

    def text(self) -> str:
        return "" if self == NO_PLACEMENT else msgspec.json.encode(self, order="deterministic").decode()

    @property
    def flow(self) -> str:
        """The key that fair share is measured by. Without a fair share, the keys of the limits serve as one."""
        return self.fair_share.key if self.fair_share else "\n".join(limit.key for limit in self.limits)

    @property
    def weight(self) -> float:
        return self.fair_share.weight if self.fair_share else 1.0


NO_PLACEMENT = Placement()
_decoder = msgspec.json.Decoder(Placement)


def placement_from_text(text: str) -> Placement:
    return _decoder.decode(text) if text else NO_PLACEMENT


def placement_of(
    requires: Requires,
    limits: list[Limit],
    fair_share: FairShare | None,
    *,
    tells_completion: bool = False,
    start_within: float | None = None,
    deadline: str | None = None,
    program: str | None = None,
) -> Placement:
    return Placement(
        requires.resources(),
        requires.labels,
        sorted(limits, key=lambda limit: limit.key),
        fair_share,
        tells_completion,
        start_within,
        deadline,
        worker=requires.worker,
        program=program,
    )


def placement_errors(requires: Requires, limits: list[Limit]) -> Iterator[FieldError]:
    for name in SIZES:
        try:
            parse_size(getattr(requires, name))
        except ValueError as error:
            yield FieldError(f"requires.{name}", str(error))
    keys = [limit.key for limit in limits]
    for place, limit in enumerate(limits):
        if limit.key in keys[:place]:
            yield FieldError(f"limits[{place}].key", f"{limit.key!r} is listed twice", "name each key once")
        if limit.max_running is None and limit.rate is None:
            yield FieldError(f"limits[{place}]", "limits nothing", "give max_running, rate or both")
        if limit.rate is not None:
            try:
                parse_rate(limit.rate)
            except ValueError as error:
                yield FieldError(f"limits[{place}].rate", str(error))


def labels_match(wanted: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    return all(labels.get(name) == value for name, value in wanted.items())
