"""Jitter: delays each job of a due time by a share of the jitter, which is always the same for a job and a due time."""

import hashlib
from collections.abc import Sequence
from datetime import timedelta

from tickwork.model.worker_protocol import Micros
from tickwork.store.port.trigger import Candidates

_HASH_VALUES = 2**32
_MICROSECOND = timedelta(microseconds=1)


def add_jitter(candidates: Candidates, jitters: Sequence[timedelta]) -> Candidates:
    """`jitters`: one per round."""
    columns = candidates.executions
    longest = [jitter // _MICROSECOND for jitter in jitters]
    ready = [
        at + share_of(job, at, longest[number]) if longest[number] else at
        for number, job, at in zip(candidates.rounds, columns.jobs, columns.times, strict=True)
    ]
    return candidates._replace(executions=columns._replace(ready=ready))


def share_of(job: int, at: Micros, longest: Micros) -> Micros:
    digest = hashlib.blake2b(b"%d %d" % (job, at), digest_size=4).digest()
    return longest * int.from_bytes(digest, "big") // _HASH_VALUES
