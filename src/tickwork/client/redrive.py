"""Redriving many dead letters: in requests that each take a moment and may be repeated."""

from collections.abc import Sequence
from datetime import datetime

from tickwork.client import call
from tickwork.client.exchange import Steps
from tickwork.client.field import DeadLetterFields
from tickwork.model.dead_letter import CHUNK, Redriven
from tickwork.model.rate import parse_rate


def redrive_dead_letters(
    ids: Sequence[str] | None = None,
    *,
    filter: DeadLetterFields | None = None,  # noqa: A002 (its name in the API)
    rate: str | None = None,
    max: int | None = None,  # noqa: A002 (its name in the API)
    start_at: datetime | None = None,
) -> Steps[Redriven]:
    """Run dead letters again: those with these ids, or all that the filter lets through ({} is every one). With a
    rate such as "100/1m" they become ready one after the other. What was redriven before an error stays so."""
    done: Redriven | None = None
    while True:
        asked = CHUNK if max is None else min(CHUNK, max - (done.redriven if done else 0))
        part: Redriven = yield call.redrive_some(ids, filter, rate, asked, start_at)
        done = _together(done, part)
        if ids is not None or part.redriven < asked or done.redriven == max:
            return done
        start_at = _next_start(part.last_at, rate)
        filter = {**(filter or {}), "until": part.as_of}  # noqa: A001 (what fails again is not redriven again)


def _together(done: Redriven | None, part: Redriven) -> Redriven:
    """Those that are refused are so every time."""
    if done is None:
        return part
    return Redriven(
        redriven=done.redriven + part.redriven,
        as_of=done.as_of,
        last_at=part.last_at or done.last_at,
        not_found=part.not_found,
        refused=part.refused,
    )


def _next_start(last_at: datetime | None, rate: str | None) -> datetime | None:
    return last_at + parse_rate(rate).interval if last_at and rate else None
