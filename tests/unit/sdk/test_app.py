"""Tasks as people write them, and the jobs that come of them."""

import asyncio
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

import tickwork
from tickwork import App, Context, ExecutionFailed
from tickwork.model.errors import Invalid
from tickwork.model.execution import ExecutionStatus
from tickwork.model.field_types import Page
from tickwork.model.job import JobRequest
from tickwork.model.requires_limits_fair_share import FairShare, Limit, Requires
from tickwork.model.task import Runner
from tickwork.sdk.app import declared_jobs


class Execution(msgspec.Struct):
    """As much of an execution as a handle looks at."""

    id: str = "e1-1"
    status: ExecutionStatus = ExecutionStatus.COMPLETED
    result: Any = None
    error: None = None
    reason: str | None = None


class Job(msgspec.Struct):
    id: str
    execution_id: str | None = None


class RecordedClient:
    """Keeps what it is asked for and answers with one execution."""

    def __init__(self, execution: Execution | None = None) -> None:
        self.execution = execution
        self.requests: list[JobRequest] = []
        self.cancelled: list[str] = []

    def create_job(self, request: JobRequest) -> Job:
        self.requests.append(request)
        return Job(f"j{len(self.requests)}")

    def list_executions(self, **_: Any) -> Page:
        return Page([self.execution] if self.execution else [])

    def wait_for_job(self, *_: Any, **__: Any) -> Execution | None:
        return self.execution

    def cancel_job(self, job_id: str) -> None:
        self.cancelled.append(job_id)


def recorded_client(execution: Execution | None = None) -> Any:
    return RecordedClient(execution)


class AsyncRecordedClient(RecordedClient):
    async def create_job(self, request: JobRequest) -> Job:  # type: ignore[override]
        return super().create_job(request)

    async def list_executions(self, **_: Any) -> Page:  # type: ignore[override]
        return super().list_executions()

    async def wait_for_job(self, *_: Any, **__: Any) -> Execution | None:  # type: ignore[override]
        return super().wait_for_job()

    async def cancel_job(self, job_id: str) -> None:  # type: ignore[override]
        super().cancel_job(job_id)


def add(a: int, b: int = 1) -> int:
    """Adds."""
    return a + b


def test_a_task_is_still_the_plain_function():
    app = App()
    task = app.task(add)
    assert task(1, b=2) == 3
    assert (task.__name__, task.__doc__) == ("add", "Adds.")  # type: ignore[attr-defined]

    @app.task(name="later")
    async def later() -> int:
        return 5

    assert asyncio.run(later()) == 5


def test_its_name_is_where_it_is():
    assert App().task(add).name == f"{__name__}.add"


def test_a_script_names_its_tasks_as_if_it_were_imported(tmp_path):
    script = tmp_path / "nightly.py"
    script.write_text("import tickwork\napp = tickwork.App()\n@app.task\ndef tidy(): ...\nprint(tidy.name)")
    printed = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True).stdout
    assert printed == "nightly.tidy\n"


def test_two_tasks_of_one_name_are_refused():
    app = App()
    app.task(add)
    with pytest.raises(Invalid, match="two tasks named"):
        app.task(add)


def test_where_it_runs_follows_from_how_it_is_written():
    async def on_the_loop() -> None: ...

    app = App()
    assert app.task(on_the_loop).definition.runner is Runner.COROUTINE
    assert app.task(add).definition.runner is Runner.THREAD
    assert app.task(name="elsewhere", process=True)(add).definition.runner is Runner.PROCESS


def test_a_generator_is_no_task():
    def counts():
        yield 1

    with pytest.raises(Invalid, match="yields"):
        App().task(counts)


def test_submit_sends_the_arguments_by_name_with_the_tasks_options():
    client: Any = RecordedClient()
    task = App(client).task(name="add", retries=2, timeout="1m", queue="math", priority="high", tags=["x"])(
        add
    )
    handle = task.submit(1, b=2)
    (request,) = client.requests
    assert handle.id == "j1"
    assert (request.task, request.payload, request.schedule) == ("add", {"a": 1, "b": 2}, None)
    assert (request.retry.max_attempts, request.timeout, request.queue) == (3, "1m", "math")
    assert (request.priority, request.tags) == ("high", ["x"])


async def test_submit_async_does_the_same():
    client: Any = AsyncRecordedClient(Execution(result=3))
    handle = await App(async_client=client).task(add).submit_async(1, 2)
    assert await handle.result_async(timeout=1) == 3
    assert await handle.status_async() == "completed"
    await handle.cancel_async()
    assert client.cancelled == [handle.id]


def test_submit_refuses_arguments_that_do_not_fit():
    client: Any = RecordedClient()
    task = App(client).task(add)
    with pytest.raises(
        Invalid, match=r'payload\.a: must be a whole number; got "1" \(write the number without quotes\)'
    ):
        task.submit("1")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'a'"):
        task.submit()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="'c'"):
        task.submit(1, c=2)  # type: ignore[call-arg]
    assert client.requests == []


def test_the_context_is_not_asked_for_at_submit():
    client: Any = RecordedClient()

    def report(to: str, *, ctx: Context) -> None: ...

    App(client).task(report).submit(to="me")
    assert client.requests[0].payload == {"to": "me"}


def test_at_and_on_say_when():
    client: Any = RecordedClient()
    task = App(client).task(add)
    when = datetime(2030, 1, 1, 9, tzinfo=UTC)
    task.at(when).submit(1)
    task.on("0 9 * * MON", timezone="Europe/Paris", key="weekly").submit(1)
    task.submit(1)
    at, on, now = client.requests
    assert at.schedule == {"at": "2030-01-01T09:00:00+00:00"}
    assert (on.schedule, on.timezone, on.key) == ("0 9 * * MON", "Europe/Paris", "weekly")
    assert (now.schedule, now.key) == (None, None)


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(Invalid, match="time zone"):
        App().task(add).at(datetime(2030, 1, 1))  # noqa: DTZ001


def test_options_change_one_submission_only():
    client: Any = RecordedClient()
    task = App(client).task(retries=0)(add)
    task.options(retries=5, name="urgent", priority="critical").submit(1)
    task.submit(1)
    first, second = client.requests
    assert (first.retry.max_attempts, first.name, first.priority) == (6, "urgent", "critical")
    assert (second.retry.max_attempts, second.name, second.priority) == (1, None, msgspec.UNSET)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"retries": -1}, "retries"),
        ({"timeout": "soon"}, "timeout"),
        ({"queue": "a b"}, "queue"),
        ({"priority": "urgent"}, "priority"),
        ({"timezone": "Europe/Paris"}, "schedule"),
    ],
)
def test_wrong_options_are_refused_where_they_are_written(options, field):
    with pytest.raises(Invalid) as caught:
        App().task(**options)(add)
    assert [error.path for error in caught.value.errors] == [f"{__name__}.add({field})"]


def test_a_handle_knows_how_it_went():
    waiting = App(recorded_client()).task(add).submit(1)
    assert waiting.status() == "pending"
    done = App(recorded_client(Execution(result=2))).task(add).submit(1)
    assert (done.status(), done.result(timeout=1)) == ("completed", 2)


def test_a_result_that_never_came_is_an_error_that_says_why():
    client: Any = RecordedClient(Execution(status=ExecutionStatus.CANCELLED, reason="the job was cancelled"))
    handle = App(client).task(add).submit(1)
    with pytest.raises(ExecutionFailed, match=r"ended as cancelled \(the job was cancelled\)"):
        handle.result()
    handle.cancel()
    assert client.cancelled == [handle.id]


def test_a_declared_schedule_is_one_job_however_often_it_is_synced():
    app = App()
    app.task(add)

    @app.task(name="digest", schedule="every weekday at 9am", timezone="Europe/Paris", retries=1)
    def digest(day: str = "today") -> None: ...

    (job,) = declared_jobs(app)
    assert (job.task, job.key, job.if_exists, job.payload) == ("digest", "task:digest", "replace", {})
    assert (job.schedule, job.timezone, job.retry.max_attempts) == ("every weekday at 9am", "Europe/Paris", 2)
    assert digest.request.schedule is None


def test_a_declared_schedule_cannot_give_arguments():
    app = App()
    app.task(name="add", schedule="every 5m")(add)
    with pytest.raises(Invalid, match=r"add\(schedule\): runs the task without arguments"):
        declared_jobs(app)


def test_every_public_name_is_there():
    for name in tickwork.__all__:
        assert getattr(tickwork, name)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = tickwork.Nothing


def test_importing_the_package_imports_nothing_else():
    code = "import sys, tickwork; print([name for name in sys.modules if name.startswith('tickwork.')])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed == "[]\n"


def test_terms_are_options_of_a_task() -> None:
    app = App()

    @app.task(requires=Requires(gpu=1), limits=[Limit("api", max_running=2)])
    def train() -> None: ...

    changed = train.options(fair_share=FairShare("acme", weight=2))
    request = changed.request_for()
    assert request.requires.resources() == {"gpu": 1}
    assert request.limits == [Limit("api", max_running=2)]
    assert request.fair_share == FairShare("acme", weight=2)


def test_terms_that_make_no_sense_are_refused_where_they_stand() -> None:
    with pytest.raises(Invalid) as refused:
        App().task(limits=[Limit("api", rate="often")])(add)
    assert refused.value.errors[0].path == f"{__name__}.add(limits[0].rate)"
