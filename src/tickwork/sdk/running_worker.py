"""The worker that runs an app's tasks in this process, as the app's own code sees it."""

from collections.abc import Mapping
from typing import Protocol


class RunningWorker(Protocol):
    labels: dict[str, str]
    resources: dict[str, float]

    def set_labels(self, labels: Mapping[str, str]) -> None:
        """Replace all labels. From now on the worker gets jobs that require the new ones; what it runs goes on."""

    def set_resources(self, resources: Mapping[str, str | float]) -> None:
        """Replace all resources, such as {"cpu": 4, "storage": "10Gi"}. What uses them goes on."""
