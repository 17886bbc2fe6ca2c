"""Creating many jobs: as few requests as the server's limits allow."""

from collections.abc import Iterable, Iterator

import msgspec

from tickwork.client import call
from tickwork.client.exchange import Steps
from tickwork.client.field import JobFields
from tickwork.model.job import CreatedJob, JobRequest

LARGEST_BATCH = 10_000
_LARGEST_BODY = 32_000_000
_MOST_VALUES = 250_000  # as the server counts them: commas and opening brackets


def create_jobs(jobs: Iterable[JobRequest | JobFields]) -> Steps[list[CreatedJob]]:
    """Create many jobs, up to 10,000 in a request. Each request is all or nothing: when one fails, those
    before it stand, and the error names the job by its place in the failed one."""
    created: list[CreatedJob] = []
    for body in _bodies(map(msgspec.json.encode, jobs)):
        page = yield call.create_job_batch(body)
        created += page.items
    return created


def _bodies(encoded: Iterable[bytes]) -> Iterator[bytes]:
    """JSON arrays within the limits."""
    items: list[bytes] = []
    size = values = 0
    for item in encoded:
        size += len(item) + 1
        values += _values(item)
        if items and (len(items) == LARGEST_BATCH or size > _LARGEST_BODY or values > _MOST_VALUES):
            yield _array(items)
            items, size, values = [], len(item) + 1, _values(item)
        items.append(item)
    if items:
        yield _array(items)


def _values(item: bytes) -> int:
    """At least as many as the server counts: those in texts count here, too, and the comma behind it."""
    return item.count(b",") + item.count(b"{") + item.count(b"[") + 1


def _array(items: list[bytes]) -> bytes:
    return b"[" + b",".join(items) + b"]"
