"""Spreading the jobs of one due time: each by its own share, the same one whenever it is asked for."""

import hashlib
from datetime import timedelta

from tickwork.model.ids import to_micros
from tickwork.store.port import Candidate

_WHOLE = 2**32


def spread(candidate: Candidate, jitter: timedelta) -> Candidate:
    if not jitter:
        return candidate
    work = candidate.work
    digest = hashlib.blake2b(b"%d %d" % (work.job_id, to_micros(work.scheduled_for)), digest_size=4).digest()
    share = int.from_bytes(digest, "big") / _WHOLE
    return candidate._replace(work=work._replace(ready_at=work.scheduled_for + jitter * share))
