"""What programs import: documented, and telling what it is."""

import inspect
import threading
from typing import Any

import pytest

import tickwork
from tickwork import App, AsyncClient, Client, Context, Invalid, Limit, TickworkError, outbox, testing
from tickwork.client.argument_types import DeadLetterFields, JobFields, JobFilters
from tickwork.model import errors
from tickwork.model.dead_letter import DeadLetterFilter
from tickwork.model.job import JobRequest, JobStatus, JobStatusName
from tickwork.model.job_filter import JobFilter
from tickwork.model.retry_policy import error_name
from tickwork.sdk.app import declared_jobs
from tickwork.sdk.submitted_job_handle import Handle

NAMES = [name for name in tickwork.__all__ if name != "__version__"]


def public_members(kind: type) -> list[tuple[str, Any]]:
    return [
        (name, value)
        for name, value in inspect.getmembers(kind)
        if not name.startswith("_")
        and (callable(value) or isinstance(value, property))
        and (getattr(value, "__module__", "tickwork") or "").startswith("tickwork")
    ]


@pytest.mark.parametrize("name", NAMES)
def test_everything_public_is_described(name: str) -> None:
    thing = getattr(tickwork, name)
    assert inspect.isfunction(thing) or "__doc__" in vars(thing)  # its own
    assert (thing.__doc__ or "").strip()
    assert not str(thing.__doc__).startswith(f"{name}("), "made by Python, not written"
    if inspect.isclass(thing):
        nameless = [member for member, value in public_members(thing) if not inspect.getdoc(value)]
        assert nameless == []


@pytest.mark.parametrize("name", testing.__all__)
def test_the_test_kit_is_described(name: str) -> None:
    thing = getattr(testing, name)
    assert inspect.getdoc(thing)
    if inspect.isclass(thing):
        nameless = [member for member, value in public_members(thing) if not inspect.getdoc(value)]
        assert nameless == []


@pytest.mark.parametrize("name", outbox.__all__)
def test_the_outbox_is_described(name: str) -> None:
    assert inspect.getdoc(getattr(outbox, name))


@pytest.mark.parametrize("name", NAMES)
def test_records_name_errors_as_users_import_them(name: str) -> None:
    thing = getattr(tickwork, name)
    if inspect.isclass(thing) and issubclass(thing, Exception):
        assert error_name(thing) == f"tickwork.{name}"


def test_every_error_can_be_imported_from_the_top() -> None:
    own = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, TickworkError)]
    assert {kind.__name__ for kind in own} <= set(tickwork.__all__)


def test_the_fields_that_type_checkers_know_are_those_of_a_job() -> None:
    assert set(JobFields.__annotations__) == set(JobRequest.__struct_fields__)
    assert set(JobFilters.__annotations__) == {*JobFilter._fields, "limit"}
    assert set(DeadLetterFields.__annotations__) == set(DeadLetterFilter._fields)
    assert list(JobStatusName.__args__) == list(JobStatus)  # type: ignore[attr-defined]


def test_an_error_says_what_would_be_right() -> None:
    error = Invalid.field("queue", "is not known", "did you mean 'mail'?")
    assert str(error) == "queue: is not known (did you mean 'mail'?)"


OPTIONS = ("retries", "retry_on", "priority", "timeout", "limits[0]", "schedule", "name")


def add(a: int, b: int = 1, *, ctx: Context) -> int:
    return a + b + ctx.attempt


def test_all_that_is_wrong_with_a_task_is_said_at_once_with_the_name_of_its_function() -> None:
    app = App()
    app.task(add)
    with pytest.raises(Invalid) as refused:
        app.task(  # type: ignore[call-overload]
            retries=-1,
            priority="hihg",
            timeout="soon",
            retry_on=[3],
            limits=[Limit("api")],
            key="weekly",
        )(add)
    place = f"{__name__}.add"
    found = {error.path: str(error) for error in refused.value.errors}
    assert list(found) == [f"{place}({option})" for option in OPTIONS]
    assert found[f"{place}(priority)"].endswith(
        """must be one of critical, high, low, normal; got "hihg" (did you mean 'high'?)"""
    )


def test_all_that_is_wrong_with_any_task_is_said_when_the_worker_starts() -> None:
    def one(place: object, thread: threading.Thread) -> None: ...

    def two(price: "Missing", tax: "Missing") -> None: ...  # type: ignore[name-defined]  # noqa: F821 (that is what is wrong)

    def three(day: str) -> None: ...

    app = App()
    app.task(name="one")(one)
    app.task(name="two")(two)
    app.task(name="three", schedule="every 1h")(three)
    with pytest.raises(Invalid) as refused:
        _ = app.definitions
    assert [error.path.rpartition(".")[2] for error in refused.value.errors] == [
        "one(place)",
        "one(thread)",
        "two(price)",
        "two(tax)",
    ]
    alone = App()
    alone.task(name="three", schedule="every 1h")(three)
    with pytest.raises(Invalid, match=r"three\(schedule\): runs the task without arguments"):
        declared_jobs(alone)


def test_all_parameters_that_cannot_be_given_by_name_are_said_at_once() -> None:
    def bad(one: int, /, *others: int): ...

    with pytest.raises(Invalid) as refused:
        App().task(bad)
    assert [error.path.rpartition(".")[2] for error in refused.value.errors] == ["bad(one)", "bad(others)"]


def test_a_context_that_cannot_be_given_by_name_is_refused_at_once() -> None:
    def bad(ctx: Context, /) -> None: ...

    with pytest.raises(Invalid, match=r"bad\(ctx\): has no name"):
        App().task(bad)


def test_a_task_called_without_a_context_makes_one() -> None:
    def first(ctx: Context, a: int) -> int:
        return ctx.attempt + a

    def maybe(a: int, ctx: Context | None = None) -> bool:
        return ctx is None

    app = App()
    assert app.task(add)(1) == 3
    assert app.task(first)(1) == 2
    assert first(Context(attempt=5), 1) == app.tasks[f"{__name__}.{first.__qualname__}".replace("<locals>.", "")](
        Context(attempt=5), 1
    )  # fmt: skip
    assert app.task(maybe)(1)


def test_things_tell_what_they_are_and_no_secret() -> None:
    app = App()
    task = app.task(name="tasks.add")(add)
    step = task.step(1)
    assert repr(app) == "<App of 1 tasks>"
    assert repr(task) == "<Task tasks.add>"
    assert repr(step) == "<Step tasks.add>"
    assert repr(task.map(range(7))) == f"<Steps {', '.join(['tasks.add'] * 5)} and 2 more>"
    step.become("j7")
    assert repr(step) == "<Step tasks.add as job j7>"
    assert repr(Handle("j7", int, None)) == "<Handle of job j7>"
    assert repr(Context(execution_id="e1-1")) == "<Context of execution e1-1, attempt 1>"
    for kind in (Client, AsyncClient):
        shown = repr(kind("http://ann:word@127.0.0.1:8080", "tw_secret"))
        assert shown == f"<{kind.__name__} of http://127.0.0.1:8080>"
