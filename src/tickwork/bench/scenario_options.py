"""What a scenario is told. Each field is an option of the command, described in one place."""

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Annotated, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta

from tickwork.bench.progress import Show
from tickwork.bench.result import Figure

Seconds: TypeAlias = Annotated[float, Meta(gt=0)]
Many: TypeAlias = Annotated[int, Meta(ge=1)]

SCENARIOS = (
    "throughput-recurring",
    "throughput-oneoff",
    "lateness",
    "burst",
    "scale",
    "concurrent",
    "http",
    "api",
    "cost",
    "fairness",
)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Fields that every scenario has; each adds its own."""

    seconds: Annotated[Seconds, Meta(description="How long to measure.")] = 60.0
    warm_up: Annotated[Seconds, Meta(description="How long to run before, in seconds.")] = 15.0


class Scenario(NamedTuple):
    name: str
    about: str
    plan: Plan
    quick: Plan
    run: Callable[[Show, Plan], Awaitable[Figure]]


def scenario(name: str) -> Scenario:
    module = import_module(f"tickwork.bench.scenario.{name.replace('-', '_')}")
    return Scenario(name, module.__doc__ or "", module.Plan(), module.QUICK, module.run)
