"""What becomes of a due time while the job's last execution has not ended."""

from tickwork.model.job import QUEUE_LIMIT, Overlap
from tickwork.store.port.trigger import Blocker


def skip_reason(overlap: Overlap, blocker: Blocker) -> str | None:
    """Why it is not run at all; None when it is run, now or later."""
    if overlap == "skip":
        return "overlap"
    if overlap == "queue" and blocker.queued >= QUEUE_LIMIT:
        return f"overlap: {QUEUE_LIMIT} wait already"
    return None
