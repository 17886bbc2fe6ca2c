"""Why an execution does not run, as people read it."""

from collections.abc import Iterator

from tickwork.cli.text import full
from tickwork.model.execution import ExecutionStatus
from tickwork.model.why import Cause, Why


def tell_why(reasons: Why) -> list[str]:
    """The summary, then when it starts, then each cause with what it names."""
    return [full(reasons.summary), *_start(reasons), *_causes(reasons.causes)]


def _start(reasons: Why) -> Iterator[str]:
    if reasons.expected_start:
        yield f"It starts {full(reasons.expected_start)} if nothing comes between."
    elif reasons.status is ExecutionStatus.PENDING:
        yield f"It starts {reasons.expected_start_reason}."


def _causes(causes: list[Cause]) -> Iterator[str]:
    """The summary has told the only one."""
    if len(causes) == 1:
        yield from _named(causes[0])
        return
    width = max((len(cause.kind) for cause in causes), default=0)
    for cause in causes:
        yield f"{cause.kind.ljust(width)}  {full(cause.message)}"
        yield from (f"{'':{width}}  {line}" for line in _named(cause))


def _named(cause: Cause) -> Iterator[str]:
    if cause.executions:
        yield f"executions: {', '.join(cause.executions)}"
    if cause.workers:
        yield f"workers: {', '.join(cause.workers)}"
