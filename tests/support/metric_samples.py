"""The metrics of this process: all that there are, and what each has gained, as other tests count too."""

import pkgutil
from collections.abc import Iterable
from importlib import import_module

from prometheus_client import REGISTRY, Metric

import tickwork


def every_metric() -> list[Metric]:
    """Of all modules, whether or not a test has imported them."""
    for module in pkgutil.walk_packages(tickwork.__path__, "tickwork."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    return [metric for metric in REGISTRY.collect() if metric.name.startswith("tickwork_")]


def sample(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


class Gained:
    """How much samples have grown since this was made."""

    def __init__(self) -> None:
        self._before = {_key(each.name, each.labels): each.value for each in _samples()}

    def __call__(self, name: str, **labels: str) -> float:
        return sample(name, **labels) - self._before.get(_key(name, labels), 0.0)


def _key(name: str, labels: dict[str, str]) -> tuple[str, frozenset[tuple[str, str]]]:
    return name, frozenset(labels.items())


def _samples() -> Iterable:
    return [each for metric in REGISTRY.collect() for each in metric.samples]
