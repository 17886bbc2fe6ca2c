"""Calls of HTTP jobs are counted by a bounded set of results."""

import asyncio
from contextlib import nullcontext

import pytest

from support.metric_samples import Gained, sample
from tickwork.execute.attempt_ending import AttemptFailed, AttemptPostponed
from tickwork.execute.runners.http.call_metrics import measured_call
from tickwork.model.worker_protocol import Failure


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (None, "2xx"),
        (AttemptFailed(Failure("Http404", "no", kinds=["Http4xx"])), "4xx"),
        (AttemptFailed(Failure("Http503", "no", kinds=["Http5xx"])), "5xx"),
        (AttemptFailed(Failure("Timeout", "no")), "timeout"),
        (AttemptFailed(Failure("DnsError", "no")), "unreachable"),
        (AttemptFailed(Failure("ResponseTooLarge", "no")), "broken"),
        (AttemptFailed(Failure("AddressDenied", "no")), "denied"),
        (AttemptFailed(Failure("Http999", "no", kinds=["Http9xx"])), "other"),
        (AttemptPostponed(1.0, Failure("DestinationBusy", "no")), "postponed"),
        (asyncio.CancelledError(), "stopped"),
    ],
)
def test_every_call_has_one_of_a_few_results(error: BaseException | None, result: str):
    gained = Gained()
    with pytest.raises(type(error)) if error else nullcontext(), measured_call():
        assert sample("tickwork_http_calls_in_progress") >= 1
        if error:
            raise error
    assert gained("tickwork_http_calls_total", result=result) == 1
    assert gained("tickwork_http_call_seconds_count") == 1
    assert gained("tickwork_http_calls_in_progress") == 0
