"""The types of `@app.task` for type checkers: which functions it accepts, and which parameters the task has.

The worker supplies the context, so the caller of `submit` must not. If the context is the first parameter,
`Concatenate` gives the types of the others. If it comes later, no type can express "all parameters except this one",
so the arguments of such a task are checked when it is submitted, and not by type checkers.
"""

from collections.abc import Callable
from typing import Any, Concatenate, Never, ParamSpec, Protocol, TypeVar, overload

from tickwork.model.task_context import Context
from tickwork.sdk.submit_task import Task

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Anything:
    """No function names this type. One that accepts it accepts anything, not only a context."""


class TakesContext(Protocol[R_co]):
    """For pyright, any function with a parameter `ctx: Context`. mypy needs the protocols below, one for each number of
    required arguments before the context."""

    def __call__(self, *args: Any, ctx: Context, **kwargs: Any) -> R_co: ...


class After0(Protocol[R_co]):
    def __call__(self, *, ctx: Context) -> R_co: ...


class After1(Protocol[R_co]):
    def __call__(self, a: Never, /, *, ctx: Context) -> R_co: ...


class After2(Protocol[R_co]):
    def __call__(self, a: Never, b: Never, /, *, ctx: Context) -> R_co: ...


class After3(Protocol[R_co]):
    def __call__(self, a: Never, b: Never, c: Never, /, *, ctx: Context) -> R_co: ...


class After4(Protocol[R_co]):
    def __call__(self, a: Never, b: Never, c: Never, d: Never, /, *, ctx: Context) -> R_co: ...


class After5(Protocol[R_co]):
    def __call__(self, a: Never, b: Never, c: Never, d: Never, e: Never, /, *, ctx: Context) -> R_co: ...


class Decorator(Protocol):
    """The result of `@app.task(…)` with options. App.task has the same overloads, in the same order."""

    @overload
    def __call__(self, function: Callable[Concatenate[Anything, P], R], /) -> Task[..., R]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[Context, P], R], /) -> Task[P, R]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, function: TakesContext[R], /) -> Task[..., R]: ...
    @overload
    def __call__(self, function: After0[R], /) -> Task[..., R]: ...
    @overload
    def __call__(self, function: After1[R], /) -> Task[..., R]: ...
    @overload
    def __call__(self, function: After2[R], /) -> Task[..., R]: ...
    @overload
    def __call__(self, function: After3[R], /) -> Task[..., R]: ...
    @overload
    def __call__(self, function: After4[R], /) -> Task[..., R]: ...
    @overload
    def __call__(self, function: After5[R], /) -> Task[..., R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Task[P, R]: ...
