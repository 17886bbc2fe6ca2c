"""What a fact says to people: its title, its severity, and what it has in common with others of the same cause."""

from collections.abc import Callable
from hashlib import sha256
from typing import Any

from tickwork.model.errors import one_line
from tickwork.model.notification_message import NotificationItem, NotifiedExecution, NotifiedJob, Severity
from tickwork.model.notification_rule import NEWS
from tickwork.model.public_ids import execution_id, job_id
from tickwork.model.stream_event import EventKind, fingerprint_text
from tickwork.store.port.notify import Fact

_LONGEST_CAUSE = 200  # characters
_LONGEST_TITLE = 300
_COUNTED_FAILED = (EventKind.BACKFILL_ENDED, EventKind.WORKFLOW_ENDED)


def severity_of(fact: Fact) -> Severity:
    if fact.kind in _COUNTED_FAILED and fact.detail.get("failed"):
        return Severity.ERROR
    return NEWS[fact.kind].severity


def cause_of(fact: Fact, *, is_own: bool) -> str:
    """Failures have their fingerprint in common, other facts what they are about. That a job completed is told for each
    job if the job asks for it, and together for all of its task if a rule does."""
    if fact.fingerprint is not None:
        about = fingerprint_text(fact.fingerprint)
    elif fact.kind.startswith("ping."):
        # However a ping is in trouble, it is the same trouble.
        about = str(fact.detail.get("ping"))
        if fact.kind != "ping.recovered":
            return bounded_cause(f"ping {about}")
    elif fact.kind in _COUNTED_FAILED or (fact.kind == EventKind.EXECUTION_COMPLETED and is_own):
        about = f"job {fact.job_id}"
    elif fact.task is not None:
        about = f"{fact.task} {fact.error_type or ''}"
    else:
        about = f"{fact.detail.get('rule') or ''} {fact.detail.get('destination') or fact.detail.get('queue') or ''}"
    return bounded_cause(f"{fact.kind} {about}")


def bounded_cause(text: str) -> str:
    """A long one is cut, and stays distinct."""
    if len(text) <= _LONGEST_CAUSE:
        return text
    return f"{text[: _LONGEST_CAUSE - 33]} {sha256(text.encode()).hexdigest()[:32]}"


def subject_of(fact: Fact) -> str | None:
    """What is in trouble, if an event will say that the trouble is over. Of a one-time job none will."""
    detail = fact.detail
    if fact.kind.startswith("execution."):
        return f"job {fact.job_id}" if fact.is_recurring else None
    if fact.kind.startswith("ping."):
        return f"ping {fact.tenant_id} {detail.get('ping')}"
    if fact.kind.startswith("breaker."):
        return f"breaker {fact.tenant_id} {detail.get('destination')}"
    if fact.kind.startswith("node."):
        return f"node {detail.get('node')}"
    if fact.kind.startswith(("queue.", "deadletters.")):
        return f"limit {fact.tenant_id} {detail.get('rule')} {detail.get('queue') or ''}"
    return None


def item_of(fact: Fact) -> NotificationItem:
    return NotificationItem(
        kind=fact.kind,
        severity=severity_of(fact),
        title=title_of(fact),
        at=fact.at,
        job=_job(fact),
        execution=_execution(fact),
        detail=dict(fact.detail),
        path=_path(fact),
    )


def title_of(fact: Fact) -> str:
    words = _TITLES.get(fact.kind)
    title = words(_Words(fact)) if words else fact.kind
    return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…"


class _Words:
    """The parts of titles."""

    def __init__(self, fact: Fact) -> None:
        self.fact = fact

    @property
    def job(self) -> str:
        fact = self.fact
        name = fact.job_name or fact.job_key
        return f"{name} ({fact.task})" if name and fact.task else name or fact.task or "A job"

    @property
    def error(self) -> str:
        """With a colon before it, if anything is known."""
        message = self.text("message") or self.text("reason")
        if self.fact.error_type is None:
            return f": {one_line('', message).removeprefix(': ')}" if message else ""
        return f": {one_line(self.fact.error_type, message)}" if message else f": {self.fact.error_type}"

    @property
    def because(self) -> str:
        reason = self.text("reason")
        return f": {reason}" if reason else ""

    @property
    def on_its_host(self) -> str:
        """A worker need not say where it runs."""
        host = self.text("host")
        return f" on {host}" if host else ""

    def text(self, name: str) -> str:
        value = self.fact.detail.get(name)
        return "" if value is None else str(value)

    def number(self, name: str) -> float:
        value: Any = self.fact.detail.get(name)
        return float(value) if isinstance(value, int | float) else 0.0

    def counts(self, *names: str) -> str:
        counted = (f"{int(self.number(name)):,} {name}" for name in names if self.number(name))
        return ", ".join(counted) or "nothing ran"


_ENDS = ("completed", "failed", "cancelled", "skipped")
_TITLES: dict[str, Callable[[_Words], str]] = {
    EventKind.EXECUTION_COMPLETED: lambda say: f"{say.job} completed",
    EventKind.EXECUTION_FAILED: lambda say: f"{say.job} failed{say.error}",
    EventKind.EXECUTION_RETRYING: lambda say: f"{say.job} is tried again after an error{say.error}",
    EventKind.EXECUTION_LOST: lambda say: f"{say.job} is tried again, because its worker was lost",
    EventKind.EXECUTION_RECOVERED: lambda say: (
        f"{say.job} has recovered, after {int(say.number('failures')):,} failures"
        if say.number("failures") > 1
        else f"{say.job} has recovered"
    ),
    EventKind.EXECUTION_SKIPPED: lambda say: f"{say.job} was skipped{say.because}",
    EventKind.EXECUTION_MISSED: lambda say: (
        f"{say.job} missed {int(say.number('missed')):,} due times{say.because}"
        if say.number("missed") > 1
        else f"{say.job} missed a due time{say.because}"
    ),
    EventKind.EXECUTION_LATE: lambda say: (
        f"{say.job} is late: it has been due for {say.number('start_delay'):,.0f} s"
    ),
    EventKind.EXECUTION_SLOW: lambda say: f"{say.job} is slow: it runs for {say.number('run_time'):,.0f} s",
    EventKind.DEADLINE_ENDANGERED: lambda say: (
        f"{say.job} is going to miss its deadline, {say.text('deadline')}: "
        f"it is expected to end {say.text('expected_end')}"
    ),
    EventKind.EXECUTION_BLOCKED: lambda say: f"{say.job} is blocked{say.because}",
    EventKind.EXECUTION_CANCELLED: lambda say: f"{say.job} was cancelled{say.because}",
    EventKind.BACKFILL_ENDED: lambda say: (
        f"The backfill of {say.job} is {say.text('status')}: {say.counts('completed', 'failed')}"
    ),
    EventKind.WORKFLOW_ENDED: lambda say: f"The workflow of {say.job} is done: {say.counts(*_ENDS)}",
    EventKind.DEAD_LETTERS_EXCEEDED: lambda say: (
        f"There are more than {int(say.number('above')):,} dead letters"
    ),
    EventKind.DEAD_LETTERS_RECEDED: lambda say: (
        f"There are no more than {int(say.number('above')):,} dead letters again"
    ),
    EventKind.BREAKER_OPENED: lambda say: f"Calls to {say.text('destination')} wait{say.because}",
    EventKind.BREAKER_CLOSED: lambda say: f"Calls to {say.text('destination')} go on",
    EventKind.WORKER_LOST: lambda say: f"The worker {say.text('name')}{say.on_its_host} was lost",
    EventKind.QUEUE_STUCK: lambda say: (
        f"The queue {say.text('queue')} is stuck: nothing of it has started for {say.number('for'):,.0f} s"
    ),
    EventKind.QUEUE_RECOVERED: lambda say: f"The queue {say.text('queue')} is stuck no more",
    "ping.late": lambda say: f"{say.text('ping')} is late",
    "ping.missing": lambda say: f"{say.text('ping')} stays away",
    "ping.failed": lambda say: f"{say.text('ping')} reported a failure",
    "ping.recovered": lambda say: f"{say.text('ping')} is back",
    "ping.slow": lambda say: f"{say.text('ping')} took longer than usual",
    "node.silent": lambda say: f"The server on {say.text('host')} fires nothing",
    "node.back": lambda say: f"The server on {say.text('host')} fires again",
    EventKind.COMMITS_LOST: lambda say: (
        f"The database failed over and has lost commits made after {say.text('lost_after')}"
    ),
}
_PAGES = {
    "breaker": "/breakers",
    "worker": "/workers",
    "queue": "/queues",
    "deadletters": "/dead-letters",
    "ping": "/pings",
    "node": "/cluster",
    "commits": "/cluster",
}


def _job(fact: Fact) -> NotifiedJob | None:
    if fact.job_id is None:
        return None
    return NotifiedJob(
        id=job_id(fact.job_id),
        name=fact.job_name,
        key=fact.job_key,
        task=fact.task,
        queue=fact.queue,
        tags=list(fact.tags),
    )


def _execution(fact: Fact) -> NotifiedExecution | None:
    if fact.job_id is None or fact.scheduled_for is None or fact.kind == EventKind.WORKFLOW_ENDED:
        return None
    message = fact.detail.get("message")
    return NotifiedExecution(
        id=execution_id(fact.job_id, fact.scheduled_for),
        scheduled_for=fact.scheduled_for,
        attempt=fact.attempt,
        error_type=fact.error_type,
        error_message=None if message is None else str(message),
    )


def _path(fact: Fact) -> str | None:
    """Where the dashboard shows it."""
    if fact.job_id is None:
        return _PAGES.get(fact.kind.partition(".")[0])
    if fact.kind == EventKind.WORKFLOW_ENDED:
        return f"/workflows/{job_id(fact.job_id)}"
    if fact.scheduled_for is None:
        return f"/jobs/{job_id(fact.job_id)}"
    return f"/executions/{execution_id(fact.job_id, fact.scheduled_for)}"
