"""What jobs depend on, refused or changed, and raced against the jobs themselves."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from support.node_steps import run_due
from support.waiting import eventually
from tickwork.config import Settings
from tickwork.model.errors import Conflict, Invalid, TickworkError
from tickwork.model.execution import AttemptOutcome
from tickwork.model.job import Dependency, JobRequest
from tickwork.model.public_ids import job_id, parse_job_id
from tickwork.model.worker_protocol import Outcome, Run
from tickwork.node import Node
from tickwork.store.outcome_store import PostgresOutcomeStore
from tickwork.store.port.record import CompletedColumns
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
_WAITS_FOR_A_LOCK = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


def after(*parents: str | Dependency, ref: str | None = None, **fields: Any) -> JobRequest:
    return JobRequest(task="work", ref=ref, depends_on=list(parents), **fields)


async def handed_out(node: Node, worker: ScriptedWorker) -> dict[int, Run]:
    await run_due(node)
    return {run.job: run for run in await worker.runs()}


@pytest.fixture
async def other_node(settings: Settings, clock: SettableClock) -> AsyncIterator[Node]:
    node = Node(settings)
    await node.open()
    yield node
    await node.stop()


@pytest.mark.parametrize(
    ("requests", "path", "message"),
    [
        ([after(ref="a"), after("@b")], "[1].depends_on[0]", "no job of this batch has the ref 'b'"),
        ([after(ref="extract"), after("@extrakt")], "[1].depends_on[0]", "did you mean @extract?"),
        ([after(ref="a"), after("@a", Dependency("@a"))], "[1].depends_on[1].job", "'@a' appears twice"),
        ([after(ref="a"), after(ref="a")], "[1].ref", "'a' appears twice in this request"),
        ([after("@a", ref="a")], "depends_on[0]", "a job cannot depend on itself"),
        ([after("j999")], "depends_on[0]", "there is no job j999"),
        ([after("weekly")], "depends_on[0]", "'weekly' is not the id of a job"),
        (
            [after("@c", ref="a"), after("@a", ref="b"), after("@b", ref="c"), after("@a")],
            "[0].depends_on",
            "these jobs wait for each other: a → b → c → a",
        ),
    ],
)
async def test_a_bad_dependency_is_named_with_its_place(
    still_node: Node, worker: ScriptedWorker, requests: list[JobRequest], path: str, message: str
) -> None:
    with pytest.raises(Invalid) as refused:
        await still_node.jobs.create_many(TENANT, requests)
    assert path in [error.path for error in refused.value.errors]
    assert message in " ".join(f"{error.message} {error.hint}" for error in refused.value.errors)
    assert (await still_node.jobs.create_many(TENANT, [after()]))[0].id  # nothing is left of it


async def test_a_change_that_closes_a_circle_is_refused_with_the_circle(
    still_node: Node, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create_many(TENANT, [after(ref="a"), after("@a", ref="b"), after("@b", ref="c")])
    with pytest.raises(Invalid, match="these jobs would wait for each other: j1 → j2 → j3 → j1"):
        await still_node.jobs.patch(TENANT, 1, {"depends_on": ["j3"]})
    assert (await still_node.jobs.get(TENANT, 1)).depends_on == []


async def test_of_two_changes_at_once_that_close_a_circle_together_one_is_refused(
    still_node: Node, other_node: Node, worker: ScriptedWorker
) -> None:
    for _ in range(10):
        made = await still_node.jobs.create_many(TENANT, [after(schedule="in 1h"), after(schedule="in 1h")])
        a, b = (parse_job_id(job.id) for job in made)
        answers = await asyncio.gather(
            still_node.jobs.patch(TENANT, a, {"depends_on": [job_id(b)]}),
            other_node.jobs.patch(TENANT, b, {"depends_on": [job_id(a)]}),
            return_exceptions=True,
        )
        refused = [answer for answer in answers if isinstance(answer, TickworkError)]
        assert len(refused) == 1
        assert "would wait for each other" in str(refused[0])


async def test_a_waiting_job_waits_for_exactly_what_it_is_told_to(
    still_node: Node, worker: ScriptedWorker
) -> None:
    made = await still_node.jobs.create_many(TENANT, [after(ref="a"), after(ref="b"), after("@a", ref="c")])
    a, b, child = (parse_job_id(job.id) for job in made)
    runs = await handed_out(still_node, worker)
    await still_node.jobs.patch(TENANT, child, {"depends_on": [job_id(b)]})
    await worker.complete(runs[a])
    assert await handed_out(still_node, worker) == {}
    await worker.complete(runs[b])
    assert (await handed_out(still_node, worker)).keys() == {child}
    with pytest.raises(Conflict, match="has begun"):
        await still_node.jobs.patch(TENANT, child, {"depends_on": None})


async def test_a_job_that_no_longer_depends_on_anything_goes_on(
    still_node: Node, worker: ScriptedWorker
) -> None:
    made = await still_node.jobs.create_many(TENANT, [after(ref="a", schedule="in 1h"), after("@a")])
    child = parse_job_id(made[1].id)
    assert await handed_out(still_node, worker) == {}
    await still_node.jobs.patch(TENANT, child, {"depends_on": None})
    assert (await handed_out(still_node, worker)).keys() == {child}


async def test_an_edit_of_something_else_leaves_a_waiting_job_waiting(
    still_node: Node, worker: ScriptedWorker
) -> None:
    made = await still_node.jobs.create_many(TENANT, [after(ref="a"), after("@a")])
    a, child = (parse_job_id(job.id) for job in made)
    run = (await handed_out(still_node, worker))[a]
    view = await still_node.jobs.patch(TENANT, child, {"payload": {"n": 1}})
    assert view.depends_on == [job_id(a)]
    assert await handed_out(still_node, worker) == {}
    await still_node.jobs.patch(TENANT, child, {"schedule": "in 1s"})
    await worker.complete(run)
    assert await handed_out(still_node, worker) == {}


async def test_a_parent_that_is_moved_is_waited_for_at_its_new_time(
    still_node: Node, worker: ScriptedWorker
) -> None:
    either = Dependency("@a", on="any outcome")
    made = await still_node.jobs.create_many(TENANT, [after(ref="a", schedule="in 1h"), after(either)])
    a, child = (parse_job_id(job.id) for job in made)
    await still_node.jobs.patch(TENANT, a, {"schedule": None})
    run = (await handed_out(still_node, worker))[a]
    await worker.complete(run)
    assert (await handed_out(still_node, worker)).keys() == {child}


async def test_a_parent_with_followers_stays_of_its_kind(still_node: Node, worker: ScriptedWorker) -> None:
    await still_node.jobs.create_many(TENANT, [after(ref="a", schedule="in 1h"), after("@a")])
    with pytest.raises(Conflict, match="other jobs depend on it"):
        await still_node.jobs.patch(TENANT, 1, {"schedule": "every 1h"})


async def test_jobs_with_keys_are_found_by_their_refs_too(
    still_node: Node, worker: ScriptedWorker, clock: SettableClock
) -> None:
    first = after(ref="a", key="extract", if_exists="keep")
    second = after("@a", ref="b", key="load", if_exists="replace")
    for _ in range(2):
        made = await still_node.jobs.create_many(TENANT, [first, second])
        assert [job.id for job in made] == ["j1", "j2"]
        await clock.advance(timedelta(seconds=1))
    assert (await still_node.jobs.get(TENANT, 2)).depends_on == ["j1"]
    with pytest.raises(Invalid, match="would wait for each other"):
        await still_node.jobs.create_many(
            TENANT,
            [after("@b", key="extract", if_exists="replace"), after(ref="b", key="load", if_exists="keep")],
        )


async def test_a_parent_that_ends_while_its_child_is_created_counts(
    still_node: Node, other_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    (a,) = await still_node.jobs.create(TENANT, [after()])
    run = (await handed_out(still_node, worker))[1]
    async with other_node._database.transaction():
        await other_node.jobs.create(TENANT, [after(a.id)])
        ending = asyncio.ensure_future(worker.complete(run))
        await eventually(lambda: connection.fetchval(_WAITS_FOR_A_LOCK), within=10, what="the end waits")
    await ending
    assert (await handed_out(still_node, worker)).keys() == {2}


async def test_a_child_that_is_created_while_its_parent_ends_sees_the_end(
    still_node: Node, other_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    (a,) = await still_node.jobs.create(TENANT, [after()])
    run = (await handed_out(still_node, worker))[1]
    async with still_node._database.transaction():
        await worker.complete(run)
        creating = asyncio.ensure_future(other_node.jobs.create(TENANT, [after(a.id)]))
        await eventually(lambda: connection.fetchval(_WAITS_FOR_A_LOCK), within=10, what="the creation waits")
    await creating
    assert (await handed_out(still_node, worker)).keys() == {2}


async def test_two_parents_that_end_at_the_same_time_on_two_nodes_count_as_two(
    still_node: Node, other_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    others_worker = await ScriptedWorker.connect(other_node, ["work"])
    made = await still_node.jobs.create_many(TENANT, [after(ref="a"), after(ref="b"), after("@a", "@b")])
    a, b, child = (parse_job_id(job.id) for job in made)
    await worker.leave_silently()
    runs = await handed_out(other_node, others_worker)
    async with other_node._database.transaction():
        await others_worker.complete(runs[a])
        ending = asyncio.ensure_future(_report(still_node, others_worker, runs[b]))
        await eventually(
            lambda: connection.fetchval(_WAITS_FOR_A_LOCK), within=10, what="one waits for the other"
        )
    await ending
    assert (await handed_out(other_node, others_worker)).keys() == {child}


async def _report(node: Node, holder: ScriptedWorker, run: Run) -> None:
    """As if the holder were connected to that node."""
    outcome = Outcome(run.tenant, run.at, run.job, run.attempt, AttemptOutcome.COMPLETED, run.at, run.at + 1)
    assert holder.welcome
    await PostgresOutcomeStore(node._database).complete(
        CompletedColumns.of([(holder.welcome.worker, outcome, 0)]), [], (), (), ()
    )
