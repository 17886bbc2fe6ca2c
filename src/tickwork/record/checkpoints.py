"""Stores the checkpoints of attempts, and answers what earlier attempts have stored.

Those of all workers of a node are written together, in one transaction. Whoever sent them is answered after the commit,
and waits until then. While the database is away they stay in memory.
"""

from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime

from prometheus_client import Counter

from tickwork.loop import Wake
from tickwork.model.bad_row_isolation import BadRowIsolation, error_text
from tickwork.model.checkpoint import ALL_STEPS_LIMIT, MOST_STEPS, CheckpointView, StoredCheckpoint
from tickwork.model.execution import ExecutionKey
from tickwork.model.worker_protocol import RefusedCheckpoint
from tickwork.store.port.checkpoint import CheckpointStore, KeepAnswer, NewCheckpoint

_MOST = 500  # checkpoints written together
_MOST_BYTES = 16 * 1024 * 1024  # written together; a single one may have more
_MOST_RECALLED = 10  # executions read together: each may have megabytes
_STORED = Counter("tickwork_checkpoints_total", "Steps and states of attempts that were stored.")
_REFUSED = Counter("tickwork_checkpoints_refused_total", "Steps and states of attempts that were refused.")
_REASONS = {
    KeepAnswer.STALE: "this attempt is no longer with its worker",
    KeepAnswer.TAKEN: "a step of this name is stored with another result: give each step a name of its own",
    KeepAnswer.TOO_MANY: f"an execution stores at most {MOST_STEPS:,} steps",
    KeepAnswer.TOO_LARGE: f"the results of all steps of an execution have at most {ALL_STEPS_LIMIT:,} bytes of JSON: "
    "store them elsewhere and return where",
}

Answered = Callable[[Sequence[RefusedCheckpoint]], None]
Recalled = Callable[[StoredCheckpoint], None]


class _Submission:
    """What one message or request has sent. It is answered as a whole."""

    __slots__ = ("answered", "refused", "unanswered")

    def __init__(self, count: int, answered: Answered) -> None:
        self.answered = answered
        self.unanswered = count
        self.refused: list[RefusedCheckpoint] = []


class _Waiting:
    __slots__ = ("answer", "checkpoint", "place", "problem", "submission")

    def __init__(self, checkpoint: NewCheckpoint, place: int, submission: _Submission) -> None:
        self.checkpoint = checkpoint
        self.place = place  # in its submission
        self.submission = submission
        self.answer = KeepAnswer.BUSY
        self.problem: str | None = None  # why the database cannot store it


class Checkpoints:
    def __init__(self, store: CheckpointStore, wake: Wake) -> None:
        self._store = store
        self._wake = wake
        self._waiting: deque[_Waiting] = deque()
        self._recalls: deque[tuple[ExecutionKey, Recalled]] = deque()
        self._isolation = BadRowIsolation("store checkpoints")

    def submit(self, checkpoints: Sequence[NewCheckpoint], answered: Answered) -> None:
        """`answered` gets those that are refused, by their place, once all others are committed."""
        if not checkpoints:
            answered([])
            return
        submission = _Submission(len(checkpoints), answered)
        self._waiting.extend(_Waiting(each, place, submission) for place, each in enumerate(checkpoints))
        self._wake.store_checkpoints()

    def submit_recall(self, key: ExecutionKey, recalled: Recalled) -> None:
        self._recalls.append((key, recalled))
        self._wake.store_checkpoints()

    async def store(self) -> bool:
        """Write and read a batch; whether there may be more. What is locked elsewhere waits for the next step."""
        batch = self._next_batch()
        if batch:
            await self._isolation.run_batch(batch, self._keep, _set_aside)
            for _ in batch:
                self._answer(self._waiting.popleft())
        await self._recall()
        are_all_busy = all(each.answer is KeepAnswer.BUSY for each in batch)
        return bool(self._recalls) or (bool(self._waiting) and not are_all_busy)

    async def view(self, tenant_id: int, job: int, scheduled_for: datetime) -> CheckpointView:
        return await self._store.view(ExecutionKey(tenant_id, scheduled_for, job))

    async def delete(self, tenant_id: int, job: int, scheduled_for: datetime) -> CheckpointView:
        """Forget what the attempts have stored: the next one starts from the beginning."""
        key = ExecutionKey(tenant_id, scheduled_for, job)
        await self._store.delete(key)
        return await self._store.view(key)

    def _next_batch(self) -> list[_Waiting]:
        batch: list[_Waiting] = []
        size = 0
        for waiting in self._waiting:
            size += len(waiting.checkpoint.value)
            if batch and (len(batch) == _MOST or size > _MOST_BYTES):
                break
            batch.append(waiting)
        return batch

    async def _keep(self, batch: Sequence[_Waiting]) -> None:
        answers = await self._store.keep([each.checkpoint for each in batch])
        for waiting, answer in zip(batch, answers, strict=True):
            waiting.answer = answer

    def _answer(self, waiting: _Waiting) -> None:
        if waiting.answer is KeepAnswer.BUSY and waiting.problem is None:
            self._waiting.append(waiting)
            return
        submission = waiting.submission
        submission.unanswered -= 1
        if waiting.answer is KeepAnswer.STORED:
            _STORED.inc()
        else:
            _REFUSED.inc()
            submission.refused.append(_refusal(waiting))
        if not submission.unanswered:
            submission.answered(submission.refused)

    async def _recall(self) -> None:
        asked = [self._recalls[place] for place in range(min(_MOST_RECALLED, len(self._recalls)))]
        if not asked:
            return
        found = await self._store.recall([key for key, _ in asked])
        for (_, recalled), stored in zip(asked, found, strict=True):
            self._recalls.popleft()
            recalled(stored)


async def _set_aside(waiting: _Waiting, error: Exception) -> None:
    waiting.problem = f"it could not be stored: {error_text(error)}"


def _refusal(waiting: _Waiting) -> RefusedCheckpoint:
    reason = waiting.problem or _REASONS[waiting.answer]
    name = waiting.checkpoint.step
    is_stale = waiting.answer is KeepAnswer.STALE
    return RefusedCheckpoint(
        waiting.place, reason if name is None or is_stale else f"step {name!r}: {reason}", is_stale
    )
