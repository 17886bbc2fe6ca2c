"""What a worker tells servers of itself: its tasks and queues, its labels and resources, which may change while it
runs, and what it measures of its machine."""

import socket
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from tickwork import __version__
from tickwork.model.errors import Invalid
from tickwork.model.explain_type_errors import raise_if_any, type_errors
from tickwork.model.requires_limits_fair_share import Labels
from tickwork.model.rest_worker import resource_amounts, resource_errors
from tickwork.model.task import TaskDefinition
from tickwork.model.worker import WorkerLoad
from tickwork.model.worker_protocol import (
    OLDEST_PROTOCOL,
    PROTOCOL,
    Beat,
    Claim,
    Hello,
    Micros,
    Resources,
    TaskOffer,
)


class WorkerSelfDescription:
    def __init__(
        self,
        name: str,
        slots: int,
        tasks: Iterable[TaskDefinition],
        queues: Sequence[str],
        weights: Mapping[str, float],
        labels: Mapping[str, str],
        resources: Mapping[str, float],
        commands: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.slots = slots
        self.labels = dict(labels)
        self.resources = dict(resources)
        self._offers = [
            TaskOffer(task.name, task.parameters, task.description, task.defaults) for task in tasks
        ]
        self._queues = list(queues)
        self._weights = dict(weights)
        self._commands = list(commands)
        self._load: WorkerLoad | None = None  # measured and not sent yet
        self._new_labels: dict[str, str] | None = None  # not sent yet
        self._new_resources: dict[str, float] | None = None
        self._after_change: Callable[[], object] = lambda: None

    @property
    def task_count(self) -> int:
        return len(self._offers)

    @property
    def has_changed(self) -> bool:
        """There are labels or resources that the server does not know."""
        return self._new_labels is not None or self._new_resources is not None

    def after_change(self, call: Callable[[], object]) -> None:
        """`call` must be safe in any thread."""
        self._after_change = call

    def set_labels(self, labels: Mapping[str, str]) -> None:
        """Replace the labels, from any thread. The worker gets what fits the new ones; what it has goes on."""
        _check("labels", dict(labels), _LabelsField)
        self.labels = self._new_labels = dict(labels)
        self._after_change()

    def set_resources(self, resources: Mapping[str, str | float]) -> None:
        """Replace the resources, such as {"memory": "8Gi"}, from any thread. What uses them goes on."""
        if errors := [*resource_errors(resources)]:
            raise Invalid(errors)
        amounts = resource_amounts(resources)
        _check("resources", amounts, _ResourcesField)
        self.resources = self._new_resources = amounts
        self._after_change()

    def measured(self, load: WorkerLoad) -> None:
        self._load = load

    def hello(self, *, credit: int, resume: str | None, holding: list[Claim]) -> Hello:
        self._new_labels = self._new_resources = None
        return Hello(
            name=self.name,
            host=socket.gethostname(),
            version=__version__,
            protocol=PROTOCOL,
            oldest_protocol=OLDEST_PROTOCOL,
            slots=self.slots,
            credit=credit,
            tasks=self._offers,
            queues=self._queues,
            weights=self._weights,
            labels=self.labels,
            resources=self.resources,
            commands=self._commands,
            resume=resume,
            holding=holding,
        )

    def beat(self, *, sent: float, credit: int, running: list[tuple[Claim, Micros]]) -> Beat:
        """With what has changed since the last one. If it is lost, the connection is, too, and the next Hello says
        all."""
        load, labels, resources = self._load, self._new_labels, self._new_resources
        self._load = self._new_labels = self._new_resources = None
        return Beat(sent=sent, credit=credit, running=running, load=load, labels=labels, resources=resources)


class _LabelsField(msgspec.Struct):
    labels: Labels


class _ResourcesField(msgspec.Struct):
    resources: Resources


def _check(name: str, value: object, struct: type[msgspec.Struct]) -> None:
    try:
        msgspec.convert({name: value}, struct)
    except msgspec.ValidationError as error:
        raise_if_any(type_errors({name: value}, struct))
        raise Invalid.field(name, str(error)) from None
