from tickwork.execute.attempt_ending import Ending, cancelled, ending_of_error, ending_of_value, still_running
from tickwork.model.execution import AttemptOutcome
from tickwork.model.task_exceptions import NoRetry


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def _error(message: str) -> Exception:  # type: ignore[return]
    try:
        {}[message]  # type: ignore[index]
    except LookupError as error:
        return error


def test_nothing_returned_is_no_result():
    assert ending_of_value(None).result is None


def test_a_long_message_is_cut_and_a_long_traceback_keeps_its_end():
    failure = ending_of_error(_error("x" * 100_000 + "the end")).failure
    assert failure
    assert len(failure.message) == 4_000
    assert failure.traceback
    assert len(failure.traceback) == 16_000
    assert failure.traceback.endswith("the end'\n")


def test_an_error_that_cannot_be_printed_is_still_reported():
    failure = ending_of_error(Unprintable()).failure
    assert failure
    assert failure.message == "its message cannot be shown: RuntimeError"


def test_no_retry_keeps_the_cause_in_its_traceback():
    cause = _error("the cause")
    error = NoRetry("give up")
    error.__cause__ = cause
    failure = ending_of_error(error).failure
    assert failure
    assert not failure.retry
    assert failure.traceback
    assert "the cause" in failure.traceback


def test_a_value_that_refers_to_itself_is_a_failure():
    endless: list[object] = []
    endless.append(endless)
    failure = ending_of_value(endless).failure
    assert failure
    assert failure.type == "BadResult"


def test_an_ending_says_that_the_code_still_runs():
    assert still_running(cancelled("by a user")).reason.startswith("by a user; ")


def test_a_lost_attempt_counts_as_lost_even_if_its_code_does_not_stop():
    lost = Ending(AttemptOutcome.LOST)  # a loss with a reason would not count, and never be quarantined
    assert still_running(lost) == lost
