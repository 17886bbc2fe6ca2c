"""Workflows: steps that run after each other, built first and then submitted as a whole.

extracted = extract.step(day="monday")
extracted.then(gather(clean.step(), enrich.step())).then(report.step())
extracted.submit()
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET

from tickwork.model.condition import Condition
from tickwork.model.errors import Invalid
from tickwork.model.for_each import ForEach
from tickwork.model.job import CreatedJob, Dependency, JobRequest, NeededOutcome
from tickwork.sdk.lazy_client import LazyClients
from tickwork.sdk.submitted_job_handle import Handle

Result = TypeVar("Result")
Next = TypeVar("Next", bound="Step[Any] | Steps[Any]")

_MOST_STEPS = 10_000  # one request creates them, so that all are created or none
_MOST_SHOWN = 5
_numbers = count()


class Edge(NamedTuple):
    """When a step runs after another one."""

    on: NeededOutcome
    when: Condition | None

    def to(self, job: str, for_each: ForEach | None) -> str | Dependency:
        if self == ("success", None) and for_each is None:
            return job
        return Dependency(job, self.on, self.when or UNSET, for_each or UNSET)


class Step(Generic[Result]):
    """A step of a workflow. It becomes a job when the workflow is submitted."""

    def __init__(
        self, request: JobRequest, result_type: Any, clients: LazyClients, for_each: ForEach | None = None
    ) -> None:
        self.request = request
        self.for_each = for_each
        self.name = request.name or request.task or ""
        self.number = next(_numbers)
        self.parents: dict[Step[Any], Edge] = {}
        self.children: list[Step[Any]] = []
        self.job: Handle[Result] | None = None
        self._result_type = result_type
        self.clients = clients

    def __repr__(self) -> str:
        return f"<Step {self.name}{f' as job {self.job.id}' if self.job else ''}>"

    def then(self, following: Next, *, on: NeededOutcome = "success", when: Condition | None = None) -> Next:
        """Run `following` after this step, with `when` only if that is true for its result. Returns `following`, to
        chain further calls."""
        return Steps([self]).then(following, on=on, when=when)

    def submit(self) -> Handle[Result]:
        """Submit the whole workflow of this step: all its jobs are created, or none."""
        return Steps([self]).submit()[0]

    async def submit_async(self) -> Handle[Result]:
        """As `submit`, in async code."""
        return (await Steps([self]).submit_async())[0]

    @property
    def handle(self) -> Handle[Result]:
        """The handle of its job."""
        if self.job is None:
            raise Invalid.field(self.name, "has not been submitted", "submit any step of its workflow first")
        return self.job

    def follow(self, parent: "Step[Any]", edge: Edge) -> None:
        """Run this step after the parent. `then` calls it for each pair of steps."""
        if parent in _reachable([self], lambda step: step.children):
            raise Invalid.field(
                self.name, f"{parent.name} runs after it, so it cannot run after {parent.name}"
            )
        self.parents[parent] = edge
        parent.children.append(self)

    def become(self, job_id: str, execution_id: str | None = None) -> None:
        """Remember the job that was created for this step."""
        self.job = Handle(job_id, self._result_type, self.clients, execution_id)


class Steps(Generic[Result]):
    """Steps that run in parallel."""

    def __init__(self, steps: Iterable[Step[Result]]) -> None:
        self.steps = list(steps)

    def __repr__(self) -> str:
        return f"<Steps {', '.join(step.name for step in self.steps[:_MOST_SHOWN])}{self._others()}>"

    def __iter__(self) -> Iterator[Step[Result]]:
        return iter(self.steps)

    def then(self, following: Next, *, on: NeededOutcome = "success", when: Condition | None = None) -> Next:
        """Run `following` after all of these. Returns `following`, to chain further calls."""
        for step in gather(following):
            for parent in self.steps:
                step.follow(parent, Edge(on, when))
        return following

    def _others(self) -> str:
        others = len(self.steps) - _MOST_SHOWN
        return f" and {others} more" if others > 0 else ""

    def submit(self) -> list[Handle[Result]]:
        """Submit their whole workflow, all or none. Returns the handles of these steps."""
        steps = _whole_workflow(self.steps)
        if steps:
            _become(steps, steps[0].clients.client.create_jobs(_requests(steps)))
        return [step.handle for step in self.steps]

    async def submit_async(self) -> list[Handle[Result]]:
        """As `submit`, in async code."""
        steps = _whole_workflow(self.steps)
        if steps:
            _become(steps, await steps[0].clients.async_client.create_jobs(_requests(steps)))
        return [step.handle for step in self.steps]


def gather(*steps: Step[Result] | Steps[Result]) -> Steps[Result]:
    """Combine steps that run in parallel, so that another step can run after all of them."""
    return Steps(each for some in steps for each in (some if isinstance(some, Steps) else [some]))


def _whole_workflow(starts: Iterable[Step[Any]]) -> list[Step[Any]]:
    """All steps of the workflow that these belong to, in the order in which they were created."""
    linked = _reachable(starts, lambda step: [*step.parents, *step.children])
    steps = sorted(linked, key=lambda step: step.number)
    if len(steps) > _MOST_STEPS:
        raise Invalid.field("", f"a workflow has {_MOST_STEPS:,} steps at most, not {len(steps):,}")
    for step in steps:
        if step.job:
            raise Invalid.field(step.name, f"has been submitted already, as job {step.job.id}")
        if step.for_each and len(step.parents) != 1:
            hint = "let it run after the step that returns the list, and after no other"
            raise Invalid.field(
                step.name, f"runs for each element of a list, after {len(step.parents)} steps", hint
            )
    return steps


def _reachable(
    starts: Iterable[Step[Any]], neighbours: Callable[[Step[Any]], Iterable[Step[Any]]]
) -> Iterator[Step[Any]]:
    waiting = list(starts)
    seen = set(waiting)
    while waiting:
        step = waiting.pop()
        yield step
        new = set(neighbours(step)) - seen
        seen |= new
        waiting += new


def _become(steps: Sequence[Step[Any]], created: Sequence[CreatedJob]) -> None:
    for step, job in zip(steps, created, strict=True):
        step.become(job.id, job.execution_id)


def _requests(steps: Sequence[Step[Any]]) -> list[JobRequest]:
    refs = {step: f"step{place}" for place, step in enumerate(steps)}
    return [
        msgspec.structs.replace(
            step.request,
            ref=refs[step],
            depends_on=[edge.to(f"@{refs[parent]}", step.for_each) for parent, edge in step.parents.items()],
        )
        for step in steps
    ]
