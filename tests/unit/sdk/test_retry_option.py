"""Which errors a task's jobs are tried again after."""

import pytest

from tickwork import App
from tickwork.execute.attempt_ending import ending_of_error, timed_out
from tickwork.model.errors import Invalid
from tickwork.model.job import JobRequest, RetryRequest
from tickwork.sdk.task_options import with_options


class Declined(ValueError):
    pass


def test_the_decorator_takes_classes_and_names():
    app = App()

    @app.task(retries=2, retry_on=(ConnectionError, "Timeout"), never_retry_on=(Declined,))
    def charge() -> None: ...

    assert charge.request.retry == RetryRequest(
        max_attempts=3, only_on=["ConnectionError", "Timeout"], never_on=[f"{__name__}.Declined"]
    )
    assert charge.options(retry_on="OSError").request.retry == RetryRequest(
        max_attempts=3, only_on=["OSError"], never_on=[f"{__name__}.Declined"]
    )


def test_one_may_stand_alone_as_after_except():
    assert with_options(JobRequest(task="t"), {"never_retry_on": ValueError}).retry.never_on == ["ValueError"]


def test_an_error_of_the_script_that_is_run_is_known_by_its_bare_name():
    error = type("Declined", (Exception,), {"__module__": "__main__"})
    assert with_options(JobRequest(task="t"), {"retry_on": error}).retry.only_on == ["Declined"]


@pytest.mark.parametrize("given", [5, int, [int], [ValueError("one")]])
def test_what_is_no_error_is_refused_by_name(given):
    with pytest.raises(Invalid, match=r"retry_on: .* is not an exception class"):
        with_options(JobRequest(task="t"), {"retry_on": given})


def test_the_worker_tells_all_the_classes_of_an_error():
    assert ending_of_error(Declined("no")).failure.kinds == [
        f"{__name__}.Declined",
        "ValueError",
        "Exception",
    ]
    assert ending_of_error(ConnectionResetError()).failure.kinds == [
        "ConnectionResetError", "ConnectionError", "OSError", "Exception",
    ]  # fmt: skip


def test_a_timeout_is_chosen_by_python_s_name_for_it_too():
    policy = with_options(JobRequest(task="t"), {"retry_on": TimeoutError}).retry.policy()
    failure = timed_out(5).failure
    assert policy.refusal([failure.type, *failure.kinds]) is None


def test_a_tall_family_of_classes_is_cut_off():
    kind = Exception
    for number in range(30):
        kind = type(f"E{number}", (kind,), {})  # type: ignore[assignment]
    assert len(ending_of_error(kind()).failure.kinds) == 10
