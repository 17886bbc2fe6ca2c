"""Resolves the dependencies of the jobs in one request: finds the parents, rejects cycles, derives the schedule."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from tickwork.model.catch_up_policy import CatchUp
from tickwork.model.condition import condition_as_json_path
from tickwork.model.errors import BadId, FieldError, Invalid
from tickwork.model.job import Dependency, JobRequest, JobSpec, JobStatus, NeededOutcome, Parent, for_each_of
from tickwork.model.notification_rule import asks_for_workflow_end
from tickwork.model.parsed_schedule_and_preview import Recurring
from tickwork.model.public_ids import is_job_key, job_id, job_key, parse_job_id
from tickwork.model.requires_limits_fair_share import placement_from_text
from tickwork.schedule.compile_timing import timing_from_text
from tickwork.store.port.define import ParentJob

_LOCAL = "@"


class Fault(NamedTuple):
    """An error of a job. `place`: the job's index in the request."""

    place: int
    error: FieldError


class ParentSchedule(NamedTuple):
    """The schedule that a job takes over from a parent."""

    schedule: Recurring
    catch_up: CatchUp
    parent: str  # its name in messages


def named_jobs(requests: Sequence[JobRequest]) -> set[int]:
    """The ids of jobs outside the request that its jobs depend on."""
    names = (_name(entry) for request in requests for entry in request.depends_on)
    return {job for name in names if not name.startswith(_LOCAL) and (job := _job_number(name)) is not None}


def named_keys(requests: Sequence[JobRequest]) -> set[str]:
    """The keys of jobs that the jobs of the request depend on."""
    keys = (job_key(_name(entry)) for request in requests for entry in request.depends_on)
    return {key for key in keys if key is not None and is_job_key(key)}


class Dependencies:
    def __init__(
        self,
        requests: Sequence[JobRequest],
        keys: Mapping[str, int],
        known: Mapping[int, ParentJob],
        *,
        itself: int | None = None,
    ) -> None:
        """`keys`: the jobs that have the named keys. `itself`: the job that is being changed, which may keep parents
        that a new job must not have."""
        self._requests = requests
        self._keys = keys
        self._known = known
        self._itself = itself
        self.faults: list[Fault] = []
        self._places: dict[str, int] = {}
        self._own_keys = {request.key: place for place, request in enumerate(requests) if request.key}
        for place, request in enumerate(requests):
            if request.ref is not None and self._places.setdefault(request.ref, place) != place:
                self._refuse(place, "ref", f"{request.ref!r} appears twice in this request")
        self.parents = [list(self._read(place, request)) for place, request in enumerate(requests)]

    def link(self, specs: Sequence[JobSpec]) -> list[JobSpec]:
        """Adds the parents to the jobs. A job with recurring parents takes over their schedule."""
        linked = list(specs)
        for place in self._parents_first():
            if self.parents[place]:
                linked[place] = self._linked(place, linked)
        if any(asks_for_workflow_end(request.notify) for request in self._requests):
            return [_telling_completion(spec) if spec.parents else spec for spec in linked]
        return linked

    def _read(self, place: int, request: JobRequest) -> Iterator[Parent]:
        seen: set[tuple[int | None, int | None]] = set()
        for number, entry in enumerate(request.depends_on):
            path = f"depends_on[{number}]" + (".job" if isinstance(entry, Dependency) else "")
            try:
                parent = self._parent(place, path, entry)
            except Invalid as invalid:
                self._refuse_all(place, invalid)
                parent = None
            try:
                needs, condition = _needs(entry, f"depends_on[{number}]")
            except Invalid as invalid:
                self._refuse_all(place, invalid)
                continue
            if parent is None:
                continue
            if parent[:2] in seen:
                self._refuse(place, path, f"{_name(entry)!r} appears twice")
            seen.add(parent[:2])
            if isinstance(entry, Dependency) and entry.for_each is not UNSET:
                self._check_for_each(place, request, f"depends_on[{number}].for_each", entry)
            yield parent._replace(needs=needs, condition=condition)

    def _check_for_each(self, place: int, request: JobRequest, path: str, entry: Dependency) -> None:
        lists = [
            each for each in request.depends_on if isinstance(each, Dependency) and each.for_each is not UNSET
        ]
        payload = {} if request.payload in (UNSET, None) else request.payload
        if entry is not lists[0]:
            self._refuse(place, path, "a job runs for each element of one list only")
        if entry.on != "success":
            hint = 'leave out "on": what did not complete has no result'
            self._refuse(place, path, f'has no meaning with "on": "{entry.on}"', hint)
        if not isinstance(payload, dict):
            self._refuse(place, "payload", "is not an object, so that it cannot hold an element of the list")
        elif entry.for_each is not UNSET and entry.for_each.into in payload:
            hint = f'leave {entry.for_each.into!r} out of the payload, or give "as" another name'
            self._refuse(
                place, f"{path}.as", f"the payload has a field {entry.for_each.into!r} already", hint
            )

    def _parent(self, place: int, path: str, entry: str | Dependency) -> Parent:
        name = _name(entry)
        other = self._place_in_request(path, name)
        parent = Parent(self._job(path, name) if other is None else None, other)
        is_itself = parent.job == self._itself if other is None else other == place
        if is_itself:
            raise Invalid.field(path, "a job cannot depend on itself")
        return parent

    def _place_in_request(self, path: str, name: str) -> int | None:
        """The index of the named job in this request, if it is one of its jobs."""
        if name.startswith(_LOCAL):
            return self._place_of_ref(path, name.removeprefix(_LOCAL))
        return self._own_keys.get(job_key(name) or "")

    def _job(self, path: str, name: str) -> int:
        key = job_key(name)
        job = _job_number(name) if key is None else self._keys.get(key)
        if key is not None and job is None:
            raise Invalid.field(path, f"no job has the key {key[:80]!r}")
        if job is None:
            hint = "the id of a job, key:NAME, or @ and the ref of another one of this batch"
            raise Invalid.field(path, f"{name[:80]!r} is not the id of a job", hint)
        if job == self._itself:
            return job
        parent = self._known.get(job)
        if parent is None:
            raise Invalid.field(path, f"there is no job {name}")
        if self._itself is None and parent.status == JobStatus.CANCELLED:
            raise Invalid.field(path, f"job {name} is cancelled: it will never run")
        if self._itself is None and not parent.is_known:
            raise Invalid.field(path, f"job {name} ran so long ago that its outcome is no longer known")
        return job

    def _place_of_ref(self, path: str, ref: str) -> int:
        if ref not in self._places:
            close = get_close_matches(ref, self._places, n=1)
            hint = f"did you mean {_LOCAL}{close[0]}?" if close else f'give that job "ref": "{ref[:80]}"'
            raise Invalid.field(path, f"no job of this batch has the ref {ref[:80]!r}", hint)
        return self._places[ref]

    def _parents_first(self) -> list[int]:
        graph = {
            place: [parent.place for parent in parents if parent.place is not None]
            for place, parents in enumerate(self.parents)
        }
        try:
            return list(TopologicalSorter(graph).static_order())
        except CycleError as error:
            cycle: list[int] = error.args[1]
            names = " → ".join(self._display_name(place) for place in cycle)
            self._refuse(cycle[-1], "depends_on", f"these jobs wait for each other: {names}")
            return []

    def _display_name(self, place: int) -> str:
        return self._requests[place].ref or f"[{place}]"

    def _linked(self, place: int, specs: Sequence[JobSpec]) -> JobSpec:
        spec = msgspec.structs.replace(specs[place], parents=self.parents[place])
        if for_each_of(spec.request):
            spec = _fanning_out(spec)
        schedules = [found for parent in spec.parents if (found := self._schedule_of(parent, specs))]
        if not schedules:
            if isinstance(spec.schedule, Recurring):
                hint = "leave out the schedule: it runs once, after them"
                self._refuse(place, "schedule", "repeats, but the jobs it depends on run once", hint)
            return spec
        if spec.request.schedule is not None:
            hint = "leave it out: a job runs in the rounds of those it depends on"
            self._refuse(place, "schedule", f"is given by {schedules[0].parent}, on which it depends", hint)
        first = schedules[0]
        other = next((each for each in schedules if each.schedule.text != first.schedule.text), None)
        if other:
            self._refuse(place, "depends_on", _different_schedules(first, other))
        return msgspec.structs.replace(spec, schedule=first.schedule, catch_up=first.catch_up)

    def _schedule_of(self, parent: Parent, specs: Sequence[JobSpec]) -> ParentSchedule | None:
        if parent.place is not None:
            spec = specs[parent.place]
            if not isinstance(spec.schedule, Recurring):
                return None
            return ParentSchedule(spec.schedule, spec.catch_up, _LOCAL + self._display_name(parent.place))
        known = self._known[parent.job or 0]
        if known.timing is None or known.catch_up is None:
            return None
        catch_up = msgspec.json.decode(known.catch_up, type=CatchUp)
        schedule = Recurring(known.timing, timing_from_text(known.timing))
        return ParentSchedule(schedule, catch_up, f"job {job_id(known.id)}")

    def _refuse_all(self, place: int, invalid: Invalid) -> None:
        self.faults.extend(Fault(place, error) for error in invalid.errors)

    def _refuse(self, place: int, path: str, message: str, hint: str | None = None) -> None:
        self.faults.append(Fault(place, FieldError(path, message, hint)))


def _fanning_out(spec: JobSpec) -> JobSpec:
    placement = msgspec.structs.replace(placement_from_text(spec.placement), fans_out=True)
    return msgspec.structs.replace(spec, placement=placement.text())


def _telling_completion(spec: JobSpec) -> JobSpec:
    """With its completions as events: whichever job of a workflow ends last, the end is noticed."""
    placement = msgspec.structs.replace(placement_from_text(spec.placement), tells_completion=True)
    return msgspec.structs.replace(spec, placement=placement.text())


def _different_schedules(one: ParentSchedule, other: ParentSchedule) -> str:
    words = [f"{each.parent} {each.schedule.timing.words}" for each in (one, other)]
    return f"these do not run at the same times, so their rounds cannot be paired: {words[0]}, {words[1]}"


def _needs(entry: str | Dependency, path: str) -> tuple[NeededOutcome, str | None]:
    """How the parent must end, and what must be true of its result, as a JSON path."""
    if isinstance(entry, str):
        return "success", None
    if entry.when is UNSET:
        return entry.on, None
    if entry.on != "success":
        hint = 'leave out "on": what did not complete has no result'
        raise Invalid.field(f"{path}.when", f'has no meaning with "on": "{entry.on}"', hint)
    return entry.on, condition_as_json_path(entry.when, f"{path}.when")


def _name(entry: str | Dependency) -> str:
    return entry.job if isinstance(entry, Dependency) else entry


def _job_number(name: str) -> int | None:
    try:
        return parse_job_id(name)
    except BadId:
        return None
