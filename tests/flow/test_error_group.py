"""Failures of one cause are one line, and can be redriven or discarded as a whole."""

from datetime import timedelta

import pytest

from support.node_steps import later, run_due
from tickwork.model.dead_letter import RedrivePace
from tickwork.model.error_group import ErrorGroupView, parse_fingerprint
from tickwork.model.errors import Invalid, NotFound
from tickwork.model.job import JobRequest, RetryRequest
from tickwork.model.worker_protocol import Failure
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
ONCE = RetryRequest(max_attempts=1)
TRACE = """Traceback (most recent call last):
  File "/usr/lib/python3.11/asyncio/runners.py", line 1, in run
  File "/srv/app/billing/charge.py", line {line}, in charge
  File "/srv/venv/site-packages/requests/api.py", line 59, in post
ValueError: no such customer"""


def no_customer(number: int, *, line: int = 10) -> Failure:
    return Failure("ValueError", f"no such customer: {number}", TRACE.format(line=line))


async def fail(node: Node, worker: ScriptedWorker, *failures: Failure, retry: RetryRequest = ONCE) -> None:
    for failure in failures:
        await node.jobs.create(TENANT, [JobRequest(task="work", retry=retry)])
        await run_due(node)
        for run in await worker.runs():
            await worker.fail(run, failure)
    await node.step("number events")


async def groups(node: Node) -> list[ErrorGroupView]:
    return (await node.error_groups.list(TENANT, None, None, 50, None)).items


async def test_failures_that_differ_in_numbers_and_lines_are_one_group(
    still_node: Node, worker: ScriptedWorker
) -> None:
    await fail(still_node, worker, no_customer(17), no_customer(4711, line=12), no_customer(9))
    (group,) = await groups(still_node)
    assert (group.task, group.type, group.message) == ("work", "ValueError", "no such customer: 9")
    assert (group.count, group.failed_executions, group.dead_letters, group.last_hour) == (3, 3, 3, 3)
    assert len(group.executions) == 3


async def test_other_errors_are_other_groups_the_latest_first(
    still_node: Node, worker: ScriptedWorker, clock: SettableClock
) -> None:
    await fail(still_node, worker, no_customer(1))
    await later(clock, worker, timedelta(minutes=1))
    await fail(still_node, worker, Failure("KeyError", "'name'"))
    assert [group.type for group in await groups(still_node)] == ["KeyError", "ValueError"]
    (only,) = (await still_node.error_groups.list(TENANT, None, "ValueError", 50, None)).items
    assert only.type == "ValueError"


async def test_pages_of_groups_go_on_where_the_last_one_ended(
    still_node: Node, worker: ScriptedWorker
) -> None:
    await fail(still_node, worker, *(Failure(f"Error{letter}", "no") for letter in "ABCDE"))
    first = await still_node.error_groups.list(TENANT, None, None, 3, None)
    second = await still_node.error_groups.list(TENANT, None, None, 3, first.next_cursor)
    assert sorted(group.type for group in [*first.items, *second.items]) == [f"Error{x}" for x in "ABCDE"]
    assert second.next_cursor is None


async def test_an_attempt_that_is_retried_counts_but_is_no_dead_letter(
    still_node: Node, worker: ScriptedWorker
) -> None:
    await fail(still_node, worker, no_customer(1), retry=RetryRequest(max_attempts=2))
    (group,) = await groups(still_node)
    assert (group.count, group.failed_executions, group.dead_letters) == (1, 0, 0)


async def test_a_group_is_redriven_as_a_whole_and_nothing_else(
    still_node: Node, worker: ScriptedWorker
) -> None:
    await fail(still_node, worker, no_customer(1), no_customer(2), Failure("KeyError", "'name'"))
    (group,) = (await still_node.error_groups.list(TENANT, None, "ValueError", 50, None)).items
    fingerprint = parse_fingerprint(group.fingerprint)
    assert (await still_node.error_groups.redrive(TENANT, fingerprint, RedrivePace())).redriven == 2
    assert (await still_node.error_groups.get(TENANT, fingerprint)).dead_letters == 0
    await run_due(still_node)
    assert len(await worker.runs()) == 2


async def test_a_group_is_discarded_as_a_whole(still_node: Node, worker: ScriptedWorker) -> None:
    await fail(still_node, worker, no_customer(1), no_customer(2))
    (group,) = await groups(still_node)
    assert (
        await still_node.error_groups.discard(TENANT, parse_fingerprint(group.fingerprint))
    ).discarded == 2


async def test_a_group_of_another_tenant_is_not_found(still_node: Node, worker: ScriptedWorker) -> None:
    await fail(still_node, worker, no_customer(1))
    (group,) = await groups(still_node)
    with pytest.raises(NotFound):
        await still_node.error_groups.get(2, parse_fingerprint(group.fingerprint))


@pytest.mark.parametrize("text", ["", "xyz", "-000000000000001", "12345678901234567", "+00000000000000f"])
def test_what_is_no_fingerprint_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        parse_fingerprint(text)
