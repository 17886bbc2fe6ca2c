"""Workflows as people build them, and the jobs that come of them."""

from typing import Any

import pytest

from tickwork import App, Condition, gather
from tickwork.model.errors import Invalid
from tickwork.model.for_each import ForEach
from tickwork.model.job import CreatedJob, Dependency, JobRequest


class RecordedClient:
    def __init__(self) -> None:
        self.batches: list[list[JobRequest]] = []

    def create_jobs(self, jobs: list[JobRequest]) -> list[CreatedJob]:
        self.batches.append(jobs)
        return [CreatedJob(f"j{number}", None, None) for number, _ in enumerate(jobs, 1)]


class AsyncRecordedClient(RecordedClient):
    async def create_jobs(self, jobs: list[JobRequest]) -> list[CreatedJob]:  # type: ignore[override]
        return super().create_jobs(jobs)


client, async_client = RecordedClient(), AsyncRecordedClient()
app = App(client, async_client)  # type: ignore[arg-type]


@app.task(name="extract")
def extract(day: str) -> int:
    return len(day)


@app.task(name="load")
async def load() -> None: ...


@pytest.fixture(autouse=True)
def _forget() -> None:
    client.batches.clear()
    async_client.batches.clear()


def links(batch: list[JobRequest]) -> list[tuple[str | None, list[Any]]]:
    return [(request.task, request.depends_on) for request in batch]


def test_a_diamond_is_created_by_one_request():
    top = extract.step("monday")
    bottom = top.then(gather(load.step(), load.step())).then(load.step())
    handle = bottom.submit()
    (batch,) = client.batches
    assert [request.ref for request in batch] == ["step0", "step1", "step2", "step3"]
    assert links(batch) == [
        ("extract", []),
        ("load", ["@step0"]),
        ("load", ["@step0"]),
        ("load", ["@step1", "@step2"]),
    ]
    assert (top.handle.id, handle.id) == ("j1", "j4")


def test_branches_say_what_they_need():
    top = extract.step("monday")
    many = Condition(path="rows", greater=3)
    top.then(load.step(), when=many)
    top.then(load.step(), on="failure")
    top.then(load.step(), on="any outcome").submit()
    (batch,) = client.batches
    assert [request.depends_on for request in batch[1:]] == [
        [Dependency("@step0", when=many)],
        [Dependency("@step0", "failure")],
        [Dependency("@step0", "any outcome")],
    ]


def test_a_step_for_each_element_of_what_another_one_returns():
    load.step().then(extract.for_each("day", "days")).then(load.step()).submit()
    (batch,) = client.batches
    assert links(batch) == [
        ("load", []),
        ("extract", [Dependency("@step0", for_each=ForEach("days", "day"))]),
        ("load", ["@step1"]),
    ]
    assert batch[1].payload == {}


def test_a_step_for_each_element_is_checked_before_it_is_submitted():
    with pytest.raises(TypeError, match="missing a required argument: 'day'"):
        extract.for_each("dya")
    with pytest.raises(Invalid, match="after 0 steps"):
        extract.for_each("day").submit()


def test_a_step_for_each_item_and_one_after_all_of_them():
    last = load.step()
    extract.map(["monday", "tuesday", "sunday"]).then(last)
    last.submit()
    (batch,) = client.batches
    assert [request.payload for request in batch[1:]] == [
        {"day": "monday"},
        {"day": "tuesday"},
        {"day": "sunday"},
    ]
    assert batch[0].depends_on == ["@step1", "@step2", "@step3"]


def test_steps_that_are_not_linked_are_one_request_too():
    assert [handle.id for handle in extract.map(["a", "b"]).submit()] == ["j1", "j2"]
    assert len(client.batches) == 1


def test_any_outcome_is_asked_for_where_it_is_said():
    extract.step("monday").then(load.step(), on="any outcome").submit()
    assert client.batches[0][1].depends_on == [Dependency("@step0", "any outcome")]


def test_options_and_times_of_the_task_are_those_of_the_step():
    extract.options(queue="big", key="x").step("monday").then(load.on("in 1h").step()).submit()
    first, second = client.batches[0]
    assert (first.queue, first.key, second.schedule) == ("big", "x", "in 1h")


async def test_it_can_be_submitted_from_a_loop():
    handle = await extract.step("monday").then(load.step()).submit_async()
    assert handle.id == "j2"


def test_a_wrong_argument_is_refused_when_the_step_is_built():
    with pytest.raises(TypeError):
        extract.step(dya="monday")  # type: ignore[call-arg]
    with pytest.raises(Invalid, match="day"):
        extract.map([5])  # type: ignore[list-item]


def test_a_circle_is_refused_when_it_is_closed():
    first, second, third = extract.step("monday"), load.step(), load.step()
    first.then(second).then(third)
    with pytest.raises(Invalid, match="load runs after it"):
        third.then(first)
    with pytest.raises(Invalid, match="load runs after it"):
        second.then(second)


def test_a_workflow_is_submitted_once():
    step = extract.step("monday")
    with pytest.raises(Invalid, match="has not been submitted"):
        _ = step.handle
    step.submit()
    with pytest.raises(Invalid, match="submitted already, as job j1"):
        step.then(load.step()).submit()


def test_a_workflow_has_its_limit():
    with pytest.raises(Invalid, match="10,000 steps at most, not 10,002"):
        extract.map(["a"] * 10_001).then(load.step()).submit()
