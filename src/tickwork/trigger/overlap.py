"""What becomes of a due time while the job's last execution has not ended."""

from tickwork.model.job import QUEUE_LIMIT
from tickwork.store.port import Candidate


def skip_reason(candidate: Candidate) -> str | None:
    """Why it is not run at all; None when it is run, now or later."""
    if candidate.blocked_by is None:
        return None
    if candidate.overlap == "skip":
        return "overlap"
    if candidate.overlap == "queue" and candidate.queued >= QUEUE_LIMIT:
        return f"overlap: {QUEUE_LIMIT} wait already"
    return None


def replaces(candidate: Candidate) -> bool:
    return candidate.overlap == "replace" and candidate.blocked_by is not None
