"""How a node tells users what happened: the rules, the notifier, and the log of what was told."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from tickwork.loop import Loops
from tickwork.model.event_after_commit import Publish
from tickwork.record.notify.edit_and_explain_rules import NotificationRules
from tickwork.record.notify.list_and_resend_notifications import NotificationLog
from tickwork.record.notify.notifier import Notifier
from tickwork.record.notify.wanted_completions import WantedCompletions
from tickwork.store.create_and_change_job import PostgresJobStore
from tickwork.store.list_and_resend_notifications_store import PostgresNotificationLogStore
from tickwork.store.notification_rule_store import PostgresNotificationRuleStore
from tickwork.store.notifier_lock_and_cleanup import PostgresNotifierStore
from tickwork.store.pool import Database
from tickwork.store.read_jobs_executions_workers_store import PostgresReadStore
from tickwork.store.stuck_queue_and_dead_letter_events import PostgresExceededLimitStore
from tickwork.store.write_completion_events_to_notify import PostgresToldCompletionStore

# Seconds between the steps of a loop
_NOTIFY_INTERVAL = 0.5
_LIMIT_INTERVAL = 5


class Notifications:
    def __init__(self, database: Database, horizon: Callable[[], datetime], publish: Publish) -> None:
        """`horizon`: until when there are partitions for deliveries."""
        jobs = PostgresJobStore(database, horizon)
        self._store = PostgresNotifierStore(database, jobs)
        self._notifier = Notifier(self._store, publish)
        self._limits = PostgresExceededLimitStore(database)
        self.rules = NotificationRules(PostgresNotificationRuleStore(database))
        self.log = NotificationLog(
            PostgresNotificationLogStore(database, jobs), PostgresReadStore(database), publish
        )
        self.wanted_completions = WantedCompletions(PostgresToldCompletionStore(database))

    def add_loops(self, loops: Loops, history: timedelta) -> None:
        """`history`: how long it is kept what was told."""
        loops.add("notify", self._notifier.notify, every=_NOTIFY_INTERVAL, only_with_work=True)
        loops.add("read completion rules", self.wanted_completions.read_rules, every=1)
        loops.add("tell exceeded limits", self._limits.tell, every=_LIMIT_INTERVAL)
        loops.add("delete old notifications", partial(self._store.delete_old, history), every=600)
