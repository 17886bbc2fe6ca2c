"""What a metric of this process has gained, as other tests in it count too."""

from collections.abc import Iterable

from prometheus_client import REGISTRY


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
