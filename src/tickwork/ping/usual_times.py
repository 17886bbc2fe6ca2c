"""What is usual for a ping, learned from its latest runs: by when it begins, and how long it takes."""

from collections.abc import Iterable
from datetime import timedelta

from tickwork.store.port.ping import PastRun

_FEWEST = 5  # runs from which something can be learned
_NEARLY_ALL = 0.9
_TWICE = 2
_LEAST_DELAY = timedelta(minutes=1)
_LEAST_EXCESS = timedelta(seconds=10)


def late_after(runs: Iterable[PastRun]) -> timedelta | None:
    """From its due time on, when a run that has not begun is later than usual. None: not known yet."""
    usual = _usual(max(run.delay, 0.0) for run in runs if run.delay is not None)
    return None if usual is None else max(usual * _TWICE, _LEAST_DELAY)


def slow_after(runs: Iterable[PastRun]) -> timedelta | None:
    """From its start on, when a run takes longer than usual. None: not known yet."""
    usual = _usual(run.run_time for run in runs if run.run_time is not None)
    return None if usual is None else max(usual * _TWICE, usual + _LEAST_EXCESS)


def _usual(seconds: Iterable[float]) -> timedelta | None:
    """What nine of ten did not exceed: one that hung does not make it usual."""
    ranked = sorted(seconds)
    if len(ranked) < _FEWEST:
        return None
    return timedelta(seconds=ranked[int((len(ranked) - 1) * _NEARLY_ALL)])
