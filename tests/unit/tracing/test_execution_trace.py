"""Ids that every node derives alike, and a sampling decision that OpenTelemetry's own sampler would make."""

from itertools import product

import pytest
from opentelemetry.sdk.trace.sampling import Decision, TraceIdRatioBased

from tickwork.tracing.trace_ids_of_executions import ExecutionTraces

SEED = 1_790_000_000_123_456
NOON = 1_790_000_000_000_000
MINUTE = 60_000_000
JOBS = range(1, 20_001)


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.25, 1.0])
def test_samples_what_the_ratio_sampler_of_opentelemetry_samples(rate: float) -> None:
    traces, sampler = ExecutionTraces(SEED, rate), TraceIdRatioBased(rate)
    chosen = {
        job
        for job in JOBS[:2000]
        if sampler.should_sample(None, traces.trace(job, NOON).trace_id, "").decision
        is Decision.RECORD_AND_SAMPLE
    }
    jobs = JOBS[:2000]
    assert {jobs[index] for index in traces.sampled(jobs, [NOON] * len(jobs))} == chosen


def test_samples_the_wanted_share_of_a_round_and_of_the_due_times_of_a_job() -> None:
    traces = ExecutionTraces(SEED, 0.01)
    assert len(traces.sampled(JOBS, [NOON] * len(JOBS))) == pytest.approx(200, abs=4)
    times = [NOON + number * MINUTE for number in range(20_000)]
    assert len(traces.sampled([7] * len(times), times)) == pytest.approx(200, abs=40)


def test_ids_are_the_same_everywhere_and_differ_between_executions_and_databases() -> None:
    executions = list(product(range(1, 200), range(NOON, NOON + 50 * MINUTE, MINUTE)))
    ids = [ExecutionTraces(SEED, 0.5).trace(*execution) for execution in executions]
    assert ids == [ExecutionTraces(SEED, 1.0).trace(*execution) for execution in executions]
    elsewhere = [ExecutionTraces(SEED + 1, 0.5).trace(*execution) for execution in executions]
    assert len({trace.trace_id for trace in [*ids, *elsewhere]}) == 2 * len(executions)
    assert len({trace.root_id for trace in [*ids, *elsewhere]}) == 2 * len(executions)
