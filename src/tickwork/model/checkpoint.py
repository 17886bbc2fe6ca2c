"""Checkpoints: what attempts have stored of their work, so that a later attempt of the execution goes on from there.

A checkpoint consists of steps, each stored once with its result, and of a state, which each later one replaces.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tickwork.model.execution import RESULT_LIMIT
from tickwork.model.field_types import Instant
from tickwork.model.json_limits import json_error

STATE_LIMIT = STEP_LIMIT = RESULT_LIMIT  # bytes of JSON
MOST_STEPS = 1_000  # of an execution
ALL_STEPS_LIMIT = 4 * 1024 * 1024  # bytes of JSON, of the results of all steps of an execution
BYTES_OF_EACH = (
    1024  # that a checkpoint takes in memory besides its value, about: its name, its key and so on
)
LARGEST_NUMBER = 2**31 - 1
LONGEST_TOOK = 1e9  # seconds
_LONGEST_NAME = 200
_NAME_RULE = f"text of 1 to {_LONGEST_NAME} characters, no control characters"

StepName = Annotated[str, Meta(pattern=r"^[^\x00-\x1f\x7f]{1,200}$", description=_NAME_RULE)]


class StoredCheckpoint(msgspec.Struct, array_like=True, frozen=True):
    """What earlier attempts have stored, as JSON."""

    state: bytes | None = None
    steps: dict[str, bytes] = {}  # results by name, in the order in which they were stored


NOTHING_STORED = StoredCheckpoint()


class StepView(msgspec.Struct, frozen=True, kw_only=True):
    """A step that is done: later attempts get its result instead of running it."""

    name: str
    attempt: int  # that ran it
    stored_at: Instant
    took: float | None  # seconds that it ran, if that is known
    result: Any  # JSON; a server writes it as msgspec.Raw, unread


class CheckpointView(msgspec.Struct, frozen=True, kw_only=True):
    """What the attempts of an execution have stored. The next attempt goes on from there."""

    state: Any  # JSON, the latest; null also if none was stored
    state_attempt: int | None  # that stored it; null: none was stored
    state_at: Instant | None
    steps: list[StepView]  # in the order in which they were stored


EMPTY_CHECKPOINT = CheckpointView(state=None, state_attempt=None, state_at=None, steps=[])


def step_name_error(name: str) -> str | None:
    """What is wrong with the name of a step, or None."""
    if 0 < len(name) <= _LONGEST_NAME and not any(map(_is_unusable, name)):
        return None
    return f"the name of a step is {_NAME_RULE}; got {name[:_LONGEST_NAME]!r}"


def _is_unusable(letter: str) -> bool:
    """Control characters, and halves of surrogate pairs, which UTF-8 cannot write."""
    return letter < " " or letter == "\x7f" or "\ud800" <= letter <= "\udfff"


def step_error(name: str, result: bytes) -> str | None:
    """What is wrong with a step, or None."""
    if error := step_name_error(name):
        return error
    fault = json_error(result, STEP_LIMIT)
    return f"the result of step {name!r} {fault}: store it elsewhere and return where" if fault else None


def state_error(state: bytes) -> str | None:
    """What is wrong with a state, or None."""
    fault = json_error(state, STATE_LIMIT)
    return f"the state {fault}: store it elsewhere and keep where" if fault else None
