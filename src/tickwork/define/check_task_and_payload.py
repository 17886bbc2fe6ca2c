"""The tasks that the jobs of one request name: what is wrong with a job of each, and whether it must wait for its task
to become known."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from tickwork.define.compile_job import Compiler, payload_errors, unknown_task
from tickwork.model.errors import FieldError, Invalid
from tickwork.model.job import JobRequest, JobSpec, for_each_of
from tickwork.model.requires_limits_fair_share import placement_from_text
from tickwork.model.task import BUILT_IN_TASKS, NO_DEFAULTS, TaskDefaults
from tickwork.store.port.define import KnownTask


class KnownTasks(NamedTuple):
    by_name: Mapping[str, KnownTask]
    names: Sequence[str] = ()  # for suggestions; read only when a task is unknown
    refuses_retired: bool = True  # jobs that exist may go on
    existing_keys: Collection[str] = ()  # of jobs of retired tasks

    def compile(self, request: JobRequest, compiler: Compiler) -> JobSpec:
        """Raises Invalid, which names every bad field."""
        errors: list[FieldError] = []
        try:
            spec = compiler.compile(request, self._defaults(request.task))
        except Invalid as invalid:
            errors.extend(invalid.errors)
        if request.task and request.task not in BUILT_IN_TASKS:
            errors.extend(self._errors(request, request.task))
        if errors:
            raise Invalid(errors)
        waits = request.task and request.task not in self.by_name and not for_each_of(request)
        return _awaiting_task(spec) if waits else spec

    def _defaults(self, task: str | None) -> TaskDefaults:
        known = self.by_name.get(task or "")
        return known.defaults if known else NO_DEFAULTS

    def _errors(self, request: JobRequest, task: str) -> Iterator[FieldError]:
        known = self.by_name.get(task)
        if known is None:
            if request.unknown_task == "error":
                yield unknown_task(task, self.names)
            return
        if known.retired and self.refuses_retired and request.key not in self.existing_keys:
            yield _retired(task, known.replacement)
        if not for_each_of(
            request
        ):  # else the payload lacks the element: each is checked when the list is known
            payload = {} if request.payload is msgspec.UNSET else request.payload
            yield from payload_errors(payload, known.schema)


def keys_of_retired(requests: Sequence[JobRequest], found: Mapping[str, KnownTask]) -> set[str]:
    """The keys of jobs of retired tasks that may exist already, which is no error then."""
    retired = {name for name, task in found.items() if task.retired}
    return {
        request.key
        for request in requests
        if request.key and request.if_exists != "error" and request.task in retired
    }


def _retired(task: str, replacement: str | None) -> FieldError:
    hint = f"use {replacement!r} instead" if replacement else "its jobs go on, but it gets no new ones"
    return FieldError("task", f"the task {task!r} is retired", hint)


def _awaiting_task(spec: JobSpec) -> JobSpec:
    placement = msgspec.structs.replace(placement_from_text(spec.placement), awaits_task=True)
    return msgspec.structs.replace(spec, placement=placement.text(), awaits_task=True)
