"""HTTP targets that finish later: the node takes their callbacks, asks their status URLs, and ends what is overdue."""

from collections.abc import Callable

from tickwork.loop import Loops
from tickwork.model.worker_protocol import Micros
from tickwork.record.http_target_callbacks import CallbackDeadlines, Callbacks, CallbackTokens
from tickwork.record.outcomes import OutcomeRecorder
from tickwork.record.poll_http_targets import StatusPolls
from tickwork.record.rest_and_callback_reports import AttemptReports
from tickwork.store.callback_wait_store import PostgresCallbackWaitStore
from tickwork.store.pool import Database


async def read_callback_tokens(database: Database) -> CallbackTokens:
    return CallbackTokens(await PostgresCallbackWaitStore(database).secret())


class HttpTargets:
    """`now`: microseconds by the database's clock."""

    def __init__(
        self,
        database: Database,
        tokens: CallbackTokens,
        reports: AttemptReports,
        recorder: OutcomeRecorder,
        now: Callable[[], Micros],
    ) -> None:
        waits = PostgresCallbackWaitStore(database)
        self.callbacks = Callbacks(waits, reports, tokens)
        self.status_polls = StatusPolls(waits, recorder, now)
        self._deadlines = CallbackDeadlines(waits, recorder, now)

    def add_loops(self, loops: Loops) -> None:
        loops.add("end callbacks", self._deadlines.enforce, every=1, only_with_work=True)
        loops.add("poll targets", self.status_polls.start_due, every=1, only_with_work=True)
