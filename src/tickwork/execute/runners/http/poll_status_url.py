"""Asks the status URL of a target that has accepted an attempt, under the circuit breaker of its destination."""

from collections.abc import Awaitable, Callable

from yarl import URL

from tickwork.execute.attempt_ending import AttemptFailed, AttemptPostponed
from tickwork.execute.runners.http.build_request import Call
from tickwork.execute.runners.http.circuit_breaker_runner import Admit, Report, reported_call
from tickwork.execute.runners.http.guarded_session import Answer
from tickwork.model.http_target import destination_of, url_error
from tickwork.model.judge_polled_status import Polled, judge_failure, value_at
from tickwork.model.quantities import parse_duration
from tickwork.model.status_poll import LOCATION, StatusPoll
from tickwork.model.worker_protocol import Accepted, Failure, Run

_LONGEST_URL = 2048


def accepted_with_status_url(call: Call, poll: StatusPoll, run: Run, answer: Answer) -> Accepted:
    """What is known of an attempt that a target has accepted. Raises AttemptFailed if it gave no usable status URL."""
    wait = max(answer.retry_after, parse_duration(poll.every).total_seconds())
    return Accepted(
        run.timeout,
        None,
        status_url=_status_url(call, poll, answer),
        target=run.target or b"",
        first_poll=wait,
    )


def _status_url(call: Call, poll: StatusPoll, answer: Answer) -> str:
    given = answer.location if poll.url_from == LOCATION else value_at(poll.url_from, answer.result)
    where = "Location header" if poll.url_from == LOCATION else poll.url_from
    if not isinstance(given, str) or not given or len(given) > _LONGEST_URL:
        raise AttemptFailed(Failure("NoStatusUrl", f"{call.host} answered 202 without a URL in its {where}"))
    try:
        url = str(call.url.join(URL(given, encoded=True)))
    except ValueError:
        url = given
    if error := url_error(url):
        raise AttemptFailed(Failure("NoStatusUrl", f"the status URL in the {where} {error.message}"))
    return url


class StatusPoller:
    def __init__(self, poll: Callable[[Run, str], Awaitable[Polled]], admit: Admit, report: Report) -> None:
        self._poll = poll
        self._admit = admit
        self._report = report

    async def __call__(self, run: Run, url: str) -> Polled:
        """What the status says. While the circuit breaker of the destination is open, nobody asks."""
        destination = destination_of(url)
        if await self._admit(run, destination):
            return Polled()
        try:
            return await reported_call(lambda run: self._poll(run, url), run, destination, self._report)
        except AttemptFailed as error:
            return judge_failure(error.failure)
        except AttemptPostponed as error:
            return Polled(wait=error.seconds)
