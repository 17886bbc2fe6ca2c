"""What the process of an attempt may use at most, and what it has used."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated

import msgspec
from msgspec import Meta

from tickwork.model.errors import FieldError
from tickwork.model.field_types import Duration
from tickwork.model.quantities import parse_duration, parse_size
from tickwork.model.requires_limits_fair_share import Size

_LEAST_MEMORY = 16 * 1024 * 1024
_SHORTEST_CPU_TIME = timedelta(seconds=1)
_LARGEST = 2**50  # bytes
OUTPUT_DEFAULT = 100 * 1024 * 1024  # bytes


class ProcessLimits(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a process may use, together with all that it starts. Without a limit, what its machine has."""

    memory: Annotated[Size, Meta(description="memory of all its processes together")] | None = None
    cpu_time: (
        Annotated[Duration, Meta(description="CPU time of all its processes together, at least 1 s")] | None
    ) = None
    output: Annotated[Size, Meta(description="bytes that it may print; 100Mi by default")] | None = None
    files: Annotated[int, Meta(ge=8, le=1_000_000, description="files open in one process")] | None = None
    processes: (
        Annotated[int, Meta(ge=1, le=1_000_000, description="processes at once, and their threads")] | None
    ) = None


class ProcessBounds(msgspec.Struct, frozen=True):
    """The same in bytes and seconds."""

    memory: int | None = None
    cpu_time: float | None = None
    output: int = OUTPUT_DEFAULT
    files: int | None = None
    processes: int | None = None


NO_LIMITS = ProcessLimits()


class Usage(msgspec.Struct, array_like=True, frozen=True):
    """What an attempt in a process of its own has used, together with all that it started."""

    cpu_seconds: float
    peak_memory: int  # bytes


class UsageView(msgspec.Struct, frozen=True):
    """The same as shown to users."""

    cpu_seconds: float
    peak_memory: int  # bytes


def bounds_of(limits: ProcessLimits) -> ProcessBounds:
    return ProcessBounds(
        None if limits.memory is None else int(parse_size(limits.memory)),
        None if limits.cpu_time is None else parse_duration(limits.cpu_time).total_seconds(),
        OUTPUT_DEFAULT if limits.output is None else int(parse_size(limits.output)),
        limits.files,
        limits.processes,
    )


def limit_errors(limits: ProcessLimits, path: str = "process_limits.") -> Iterator[FieldError]:
    for name, least in (("memory", _LEAST_MEMORY), ("output", 0)):
        size = getattr(limits, name)
        try:
            fits = size is None or least <= parse_size(size) <= _LARGEST
        except ValueError as error:
            yield FieldError(f"{path}{name}", str(error))
            continue
        if not fits:
            yield FieldError(f"{path}{name}", f"is between {least} and {_LARGEST} bytes", 'such as "512Mi"')
    if limits.cpu_time is not None:
        try:
            is_too_short = parse_duration(limits.cpu_time) < _SHORTEST_CPU_TIME
        except ValueError as error:
            yield FieldError(f"{path}cpu_time", str(error))
        else:
            if is_too_short:
                yield FieldError(f"{path}cpu_time", "is at least 1 s", 'such as "60s"')
