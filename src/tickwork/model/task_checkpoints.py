"""The steps and states of one attempt: what `ctx.step`, `ctx.checkpoint` and `ctx.state` do.

Both return only when a server has committed what they store. Where an event loop runs they give something to await, and
elsewhere they block, so that the same context serves coroutines, threads and child processes.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from functools import partial
from inspect import isawaitable, unwrap
from threading import Lock
from time import perf_counter
from typing import Any, Protocol, get_type_hints

import msgspec

from tickwork.model.checkpoint import (
    ALL_STEPS_LIMIT,
    MOST_STEPS,
    NOTHING_STORED,
    StoredCheckpoint,
    state_error,
    step_error,
    step_name_error,
)
from tickwork.model.python_values_to_json import decoder, encode
from tickwork.model.task_exceptions import AttemptLost, CheckpointError

_STOPPED = "this attempt was stopped: nothing of it is stored any more"
_NO_RESULT = object()


class NewCheckpoint(msgspec.Struct, array_like=True, frozen=True):
    """A step that is done, or a state, to be stored."""

    number: int  # counts the checkpoints of the attempt, from 1
    step: str | None  # its name; None: this is the state
    value: bytes  # JSON
    took: float = 0.0  # seconds that the step ran


class CheckpointStorage(Protocol):
    """Where an attempt stores its checkpoints. Used from any thread."""

    def recalled(self) -> StoredCheckpoint:
        """What earlier attempts have stored."""

    def keep(self, checkpoint: NewCheckpoint) -> "Future[None]":
        """Done when it is committed. Fails with AttemptLost or CheckpointError."""


class TaskCheckpoints:
    def __init__(
        self, storage: CheckpointStorage | None, *, in_loop: Callable[[], bool] | None = None
    ) -> None:
        """Without a storage nothing is stored: the context belongs to no attempt. `in_loop`: whether the caller awaits
        what it gets; by default, whether an event loop runs."""
        self._storage = storage
        self._in_loop = in_loop or _is_loop_running
        recalled = storage.recalled() if storage else NOTHING_STORED
        self._state = recalled.state
        self._done = recalled.steps
        self._lock = Lock()  # a task may have threads of its own
        self._used: set[str] = set()  # names of steps in this attempt
        self._steps = len(recalled.steps)
        self._bytes = sum(map(len, recalled.steps.values()))
        self._number = 0
        self._unanswered: set[Future[None]] = set()
        self._stopped = False

    @property
    def state(self) -> Any:
        """A copy each time: what the task does with it changes nothing stored."""
        return None if self._state is None else msgspec.json.decode(self._state)

    def store_state(self, state: object) -> Awaitable[None]:
        text = _json_of(state, "the state")
        if error := state_error(text):
            raise CheckpointError(error)
        stored = self._keep(None, text)
        self._state = text
        if self._in_loop():
            return asyncio.wrap_future(stored)
        stored.result()
        return _Stored()

    def step(
        self, name: str, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        call = partial(function, *args, **kwargs)
        return self._await_step(name, call) if self._in_loop() else self._run_step(name, call)

    def stop(self) -> None:
        """The attempt was told to stop: end what waits for an answer, and store nothing more."""
        with self._lock:
            self._stopped = True
            unanswered = list(self._unanswered)
        for future in unanswered:
            settle(future, AttemptLost(_STOPPED))

    def _run_step(self, name: str, call: "partial[Any]") -> Any:
        result = self._begin(name, call)
        if result is not _NO_RESULT:
            return result
        began = perf_counter()
        try:
            text = _json_of(call(), f"the result of step {name!r}")
        except BaseException:
            self._release(name)
            raise
        self._keep_step(name, text, began).result()
        return _result_of(name, text, call)

    async def _await_step(self, name: str, call: "partial[Any]") -> Any:
        result = self._begin(name, call)
        if result is not _NO_RESULT:
            return result
        began = perf_counter()
        try:
            value = call()
            text = _json_of(await value if isawaitable(value) else value, f"the result of step {name!r}")
        except BaseException:
            self._release(name)
            raise
        await asyncio.wrap_future(self._keep_step(name, text, began))
        return _result_of(name, text, call)

    def _begin(self, name: str, call: "partial[Any]") -> Any:
        """The stored result, if the step is done."""
        if not isinstance(name, str) or step_name_error(name):
            raise CheckpointError(step_name_error(str(name)) or f"the name of a step is text; got {name!r}")
        with self._lock:
            if self._stopped:
                raise AttemptLost(_STOPPED)
            if name in self._used:
                raise CheckpointError(
                    f"step {name!r} was already used in this attempt: give each step a name of its own"
                )
            self._used.add(name)
        return _result_of(name, self._done[name], call) if name in self._done else _NO_RESULT

    def _release(self, name: str) -> None:
        """The step raised, so it is not done: the task may try it again."""
        with self._lock:
            self._used.discard(name)

    def _keep_step(self, name: str, text: bytes, began: float) -> "Future[None]":
        if error := step_error(name, text) or self._excess(name, len(text)):
            raise CheckpointError(error)
        return self._keep(name, text, perf_counter() - began)

    def _excess(self, name: str, size: int) -> str | None:
        with self._lock:
            self._steps += 1
            self._bytes += size
            if self._steps > MOST_STEPS:
                return f"step {name!r} is one too many: an execution stores at most {MOST_STEPS:,} steps"
            if self._bytes > ALL_STEPS_LIMIT:
                return (
                    f"with step {name!r} the results of all steps have {self._bytes:,} bytes of JSON; "
                    f"the limit is {ALL_STEPS_LIMIT:,}: store them elsewhere and return where"
                )
        return None

    def _keep(self, step: str | None, text: bytes, took: float = 0.0) -> "Future[None]":
        with self._lock:
            if self._stopped:
                raise AttemptLost(_STOPPED)
            self._number += 1
            checkpoint = NewCheckpoint(self._number, step, text, took)
            stored = self._storage.keep(checkpoint) if self._storage else _done()
            self._unanswered.add(stored)
        stored.add_done_callback(self._unanswered.discard)
        return stored


class _Stored:
    """What `ctx.checkpoint` gives where nothing need be awaited."""

    def __await__(self) -> Any:
        return iter(())


def settle(future: "Future[None]", error: BaseException | None = None) -> None:
    """Answer whoever waits, unless that has been done, or nobody waits any more."""
    with suppress(InvalidStateError):
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)


def _done() -> "Future[None]":
    future: Future[None] = Future()
    future.set_result(None)
    return future


def _is_loop_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _json_of(value: object, what: str) -> bytes:
    try:
        return encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{what} cannot be written as JSON: {error}") from None


def _result_of(name: str, text: bytes, call: "partial[Any]") -> Any:
    """The result as a later attempt gets it: from JSON, as the type that the function is annotated to return. So the
    first attempt finds out if that is not what the task expects."""
    try:
        return decoder(_result_type(call.func))(text)
    except TypeError:  # JSON cannot be read as this type
        return msgspec.json.decode(text)
    except ValueError as error:
        raise CheckpointError(
            f"the stored result of step {name!r} does not fit what its function returns: {error}"
        ) from None


def _result_type(function: Callable[..., Any]) -> Any:
    try:
        return get_type_hints(unwrap(function)).get("return", Any)
    except (
        TypeError,
        NameError,
        AttributeError,
        ValueError,
    ):  # it has no annotations, or none that can be read
        return Any
