"""The messages between a worker and a server over their WebSocket: msgpack, batches both ways.

    worker                         server
    Hello        ──────────────▶            its name, what it offers, which attempts it still has
                 ◀──────────────   Welcome  its id and lease, which attempts it must forget
                 ◀──────────────   Runs     attempts to start, each not before its time
    Outcomes     ──────────────▶            how attempts ended
                 ◀──────────────   Ack      the outcomes are recorded
    Notes        ──────────────▶            log lines and progress of attempts
                 ◀──────────────   Noted    the lines are recorded
    Checkpoints  ──────────────▶            steps that are done, and states, of attempts
                 ◀──────────────   Checkpointed  they are stored, or why not
    Recall       ──────────────▶            attempts that are not the first of their execution
                 ◀──────────────   Recalled what the attempts before one of them have stored
    Beat         ──────────────▶            a heartbeat, which attempts have started, what it measured and has now
                 ◀──────────────   Renewed  the lease counts from when that beat was sent
                 ◀──────────────   Revoke   attempts to stop
                 ◀──────────────   Drain    take nothing new, and leave when done
    Drain        ──────────────▶            it takes nothing new
                 ◀──────────────   Drained  nothing more will come: leave when done

Times are microseconds since 1970 by the database's clock; a worker maps them to its own monotonic clock.
A worker repeats Outcomes until they are acknowledged, on any server; repeating changes nothing. Notes likewise:
lines are numbered within their attempt. Checkpoints likewise: a task goes on only after they are stored.

Servers and workers of two releases work together. Whoever does not know a field ignores it, so a new one at the end of
a message needs nothing more. A new message, or a new meaning, needs a new PROTOCOL, and goes only to who speaks it;
OLDEST_PROTOCOL moves on a release later. A server refuses a worker with which it has no protocol in common.

Workers are not trusted: these types limit what they send while it is decoded, and `model.outcome_limits` checks it.
"""

from typing import Annotated, Any, Protocol

import msgspec
from msgspec import Meta

from tickwork.model.checkpoint import StoredCheckpoint
from tickwork.model.command_allow_list import MOST_PATTERNS, Pattern
from tickwork.model.execution import AttemptOutcome, ExecutionKey
from tickwork.model.field_types import Name, QueueName
from tickwork.model.process_limits import Usage
from tickwork.model.public_ids import from_micros
from tickwork.model.requires_limits_fair_share import Key as LabelName
from tickwork.model.requires_limits_fair_share import Labels
from tickwork.model.rest_worker import MOST_RESOURCE, Weights
from tickwork.model.task import TaskName
from tickwork.model.worker import WorkerLoad

PROTOCOL = 1  # what this version speaks
OLDEST_PROTOCOL = 1  # what it speaks with older versions, too
LARGEST_MESSAGE = (
    8 * 1024 * 1024
)  # bytes from a worker; messages from a server are limited only by their jobs
MOST_TOGETHER = 10_000  # outcomes, notes or lines in one message
_MOST_HELD = 1_000_000


Micros = int
Key = tuple[int, Micros, int]  # tenant, scheduled for, job: an execution as the messages name it


class Claim(msgspec.Struct, array_like=True, frozen=True):
    """One attempt that a worker has. The attempt number fences off earlier ones."""

    tenant: int
    at: Micros
    job: int
    attempt: int


class Run(msgspec.Struct, array_like=True, frozen=True):
    """Everything needed to run one attempt."""

    tenant: int
    at: Micros
    job: int
    attempt: int
    task: str
    payload: bytes  # JSON
    timeout: float
    not_before: Micros
    target: bytes | None = None  # JSON: the HTTP call, for the built-in worker, or the command
    priority: int = 2  # the smallest starts first when slots are short
    flow: int = 0  # attempts of the same priority alternate between flows
    parents: bytes | None = None  # JSON: how its parents ended
    traceparent: str | None = None  # the span that handed it over, if it is sampled


class Failure(msgspec.Struct, array_like=True, frozen=True):
    type: str
    message: str
    traceback: str | None = None
    retry: bool = True  # False: trying again is useless
    retry_after: float = 0.0  # not sooner than this many seconds
    kinds: list[str] = []  # names of the error's class and of its base classes, for only_on and never_on


class Accepted(msgspec.Struct, array_like=True, frozen=True):
    """An HTTP target has accepted the attempt (202) and reports later how it ends."""

    timeout: float  # seconds from the start of the attempt
    heartbeat: float | None = None  # seconds: the target must report at least this often
    status_url: str | None = None  # to be asked how it ends
    target: bytes = b""  # the HTTP call as JSON, as it was made; with a status URL
    first_poll: float = 0.0  # seconds from now


class Outcome(msgspec.Struct, array_like=True, frozen=True):
    """How one attempt ended."""

    tenant: int
    at: Micros
    job: int
    attempt: int
    kind: AttemptOutcome
    started: Micros
    finished: Micros
    result: bytes | None = None  # JSON
    failure: Failure | None = None
    snooze: float = 0.0  # seconds, for a snoozed one
    reason: str | None = (
        None  # for a cancelled or a held one, or one that is lost because its worker was stopped
    )
    accepted: Accepted | None = None  # for an accepted one


class LogLine(msgspec.Struct, array_like=True, frozen=True):
    at: Micros
    level: str  # of ctx.log, or "stdout" and "stderr" for what was printed
    text: str


Together = Meta(max_length=MOST_TOGETHER)
# What a worker has of each, in bytes or as a number.
Resources = Annotated[dict[LabelName, Annotated[float, Meta(ge=0, le=MOST_RESOURCE)]], Meta(max_length=20)]
Credit = Annotated[int, Meta(ge=0, le=_MOST_HELD)]
ProtocolNumber = Annotated[int, Meta(ge=1, le=1_000_000)]


class Note(msgspec.Struct, array_like=True, frozen=True):
    """New log lines of one attempt, numbered from `first` on, its latest progress, and what its process has used."""

    tenant: int
    at: Micros
    job: int
    attempt: int
    first: int = 0
    lines: Annotated[list[LogLine], Together] = []
    fraction: float | None = None  # None: no new progress
    message: str | None = None
    started: Micros = 0  # when the attempt started; 0: not given
    usage: Usage | None = None  # what its process has used, at its end


class Checkpoint(msgspec.Struct, array_like=True, frozen=True):
    """A step of one attempt that is done, or its state."""

    tenant: int
    at: Micros
    job: int
    attempt: int
    number: int  # counts the checkpoints of the attempt, from 1: a state replaces those with lower numbers
    step: str | None  # its name; None: this is the state
    value: bytes  # JSON: the result of the step, or the state
    took: float = 0.0  # seconds that the step ran


class RefusedCheckpoint(msgspec.Struct, array_like=True, frozen=True):
    place: int  # in the message, from 0
    reason: str
    is_stale: bool = False  # the worker does not have the attempt, or no longer


def execution_key(message: Claim | Run | Outcome | Note | Checkpoint) -> ExecutionKey:
    return ExecutionKey(message.tenant, from_micros(message.at), message.job)


class TaskOffer(msgspec.Struct, array_like=True, frozen=True):
    name: TaskName
    parameters: dict[str, Any]  # JSON Schema of the payload
    description: Annotated[str, Meta(max_length=10_000)] | None = None
    defaults: dict[str, Any] = {}  # of its jobs: priority, queue, timeout, retry


class Hello(msgspec.Struct, tag=True, frozen=True, kw_only=True):
    name: Name
    host: Annotated[str, Meta(max_length=255)]
    version: Annotated[str, Meta(max_length=100)]
    protocol: ProtocolNumber = 1
    oldest_protocol: ProtocolNumber = 1
    slots: Annotated[int, Meta(ge=1, le=_MOST_HELD)]
    credit: Credit  # how many attempts it accepts at once
    tasks: Annotated[list[TaskOffer], Meta(max_length=1000)]
    queues: Annotated[list[QueueName], Meta(max_length=100)] = []  # none named: all of them
    weights: Weights = {}  # of queues: the share of its slots that each gets; 1 by default
    labels: Labels = {}
    resources: Resources = {}
    # Which programs it runs as commands: see `command_allow_list`.
    commands: Annotated[list[Pattern], Meta(max_length=MOST_PATTERNS)] = []
    resume: Annotated[str, Meta(max_length=200)] | None = None  # the token of an earlier Welcome
    holding: Annotated[list[Claim], Meta(max_length=_MOST_HELD)] = []


class Welcome(msgspec.Struct, tag=True, frozen=True, kw_only=True):
    worker: int
    token: str
    lease: float  # seconds from when the Hello was sent
    now: Micros
    forget: list[Claim] = []  # attempts that the worker has, but that are no longer its own


class Refused(msgspec.Struct, tag=True, frozen=True):
    """The lease has expired: drop everything and register as a new worker."""

    reason: str


LEASE_RAN_OUT = Refused("the lease ran out and the work was given to others")


class Runs(msgspec.Struct, tag=True, frozen=True):
    items: list[Run]


class Outcomes(msgspec.Struct, tag=True, frozen=True):
    number: int
    items: Annotated[list[Outcome], Together]


class Ack(msgspec.Struct, tag=True, frozen=True):
    number: int


class Notes(msgspec.Struct, tag=True, frozen=True):
    number: int
    items: Annotated[list[Note], Together]


class Noted(msgspec.Struct, tag=True, frozen=True):
    number: int


class Checkpoints(msgspec.Struct, tag=True, frozen=True):
    number: int
    items: Annotated[list[Checkpoint], Together]


class Checkpointed(msgspec.Struct, tag=True, frozen=True):
    number: int
    refused: list[RefusedCheckpoint] = []  # the others are stored


class Recall(msgspec.Struct, tag=True, frozen=True):
    items: Annotated[list[Claim], Together]


class Recalled(msgspec.Struct, tag=True, frozen=True):
    claim: Claim
    stored: StoredCheckpoint


class Beat(msgspec.Struct, tag=True, frozen=True, kw_only=True):
    sent: Annotated[float, Meta(ge=0, le=1e15)]  # the worker's monotonic clock
    credit: Credit
    # Attempts that run and whose start was not reported yet.
    running: Annotated[list[tuple[Claim, Micros]], Meta(max_length=_MOST_HELD)] = []
    load: WorkerLoad | None = None  # None: not measured since the last beat
    labels: Labels | None = None  # None: as before; likewise resources
    resources: Resources | None = None


class Renewed(msgspec.Struct, tag=True, frozen=True):
    sent: float  # of the beat that this answers
    now: Micros


class Revoke(msgspec.Struct, tag=True, frozen=True):
    items: list[Claim]
    reason: str


class Drain(msgspec.Struct, tag=True, frozen=True):
    """From a worker: it takes nothing new. From a server: somebody wants the worker to do so."""


class Drained(msgspec.Struct, tag=True, frozen=True):
    pass


FromWorker = Hello | Outcomes | Notes | Checkpoints | Recall | Beat | Drain
FromServer = (
    Welcome | Refused | Runs | Ack | Noted | Checkpointed | Recalled | Renewed | Revoke | Drain | Drained
)


class Connection(Protocol):
    """Sends and receives messages in order. Raises OSError when the connection is lost."""

    async def send(self, message: FromWorker, /) -> None: ...

    async def receive(self) -> FromServer: ...

    async def close(self) -> None: ...


class Link(Protocol):
    """Opens connections. Each call may connect to a different server."""

    async def connect(self) -> Connection: ...
