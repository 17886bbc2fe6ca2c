"""What type checkers are told of `@app.task`: which functions it takes, and what it makes of their parameters.

The worker gives the context, so whoever submits must not. Of a function whose first parameter is the context, the
others are known by `Concatenate`. No type can say "all parameters but this one" of a context that comes later, so the
arguments of such a task are checked when it is submitted, and not by type checkers.
"""

from collections.abc import Callable
from typing import Any, Concatenate, Never, ParamSpec, Protocol, TypeVar, overload

from tickwork.model.task_context import Context
from tickwork.sdk.task import Task

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Anything:
    """No function takes this by name: one that does takes anything, so its first parameter need not be a context."""


class TakesContext(Protocol[R_co]):
    """As pyright reads it, any function with a context by name. mypy takes the others below, by how many arguments
    must come before the context."""

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
    """`@app.task(…)`, which is `@app.task` with options. App.task has the same overloads, in the same order."""

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
