"""The trace of an execution, derived from its identity.

Every node computes the same ids, and decides alike which executions are sampled. So attempts on several nodes, weeks
apart, belong to one trace, and nothing is stored or sent for an execution that is not sampled.

The lower half of a trace id decides about sampling, as in OpenTelemetry's own ratio sampler. It is a multiple of two
odd constants, because that is cheap enough to compute for every execution, and consecutive numbers multiplied by such
a constant are spread evenly: of the many jobs of a round, the wanted share is sampled and not more or less by chance.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

from opentelemetry.trace import SpanContext, TraceFlags

_JOB, _TIME = (
    0x9E3779B97F4A7C15,
    0xD1B54A32D192ED03,
)  # 2^64 divided by the golden ratio, and another odd number
_HALF = (1 << 64) - 1
_HALF_BYTES = 8
SAMPLED = TraceFlags(TraceFlags.SAMPLED)


class ExecutionTrace(NamedTuple):
    trace_id: int
    root_id: int  # of its first span

    @property
    def root(self) -> SpanContext:
        return SpanContext(self.trace_id, self.root_id, is_remote=True, trace_flags=SAMPLED)


class ExecutionTraces:
    def __init__(self, seed: int, rate: float) -> None:
        """`seed`: makes ids differ between databases whose jobs have the same numbers. `rate`: the share of executions
        to sample, from 0 to 1."""
        self._seed = seed
        self._bound = round(rate * (_HALF + 1))

    def sampled(self, jobs: Sequence[int], times: Sequence[int]) -> list[int]:
        """The indexes of the executions that are sampled, among those of these jobs at these due times."""
        bound = self._bound
        shifts = {time: self._seed + time * _TIME for time in set(times)}  # few: a round has one due time
        return [
            index
            for index, (job, time) in enumerate(zip(jobs, times, strict=True))
            if (job * _JOB + shifts[time]) & _HALF < bound
        ]

    def trace(self, job: int, time: int) -> ExecutionTrace:
        lower = (job * _JOB + self._seed + time * _TIME) & _HALF
        identity = b"%d %d %d" % (self._seed, job, time)
        digest = blake2b(identity, digest_size=2 * _HALF_BYTES).digest()
        upper, root = digest[:_HALF_BYTES], digest[_HALF_BYTES:]
        return ExecutionTrace(int.from_bytes(upper) << 64 | lower, int.from_bytes(root))
