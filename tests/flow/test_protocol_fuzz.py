"""Whatever a worker sends, the node stays ready and other tenants' jobs run."""

import asyncio
from typing import Any

import msgspec
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from tickwork.config import Settings
from tickwork.model.execution import AttemptOutcome, ExecutionFilter
from tickwork.model.job import JobRequest
from tickwork.model.public_ids import parse_job_id
from tickwork.model.worker_protocol import Run, Runs
from tickwork.node import Node
from tickwork.testing.scripted_worker import ScriptedWorker

HOSTILE, OTHER = 1, 2

numbers = st.one_of(
    st.integers(-(2**63), 2**64 - 1),
    st.floats(),
    st.sampled_from([0, -1, 1, 2**31, 2**53, float("nan"), float("inf"), 1e300]),
)
texts = st.one_of(st.text(max_size=20), st.sampled_from(["", "\0", "x" * 300, "x" * 20_000]))
blobs = st.one_of(
    st.binary(max_size=30),
    st.sampled_from(
        [b"", b'1,"a":2', b"NaN", b"1e999", b'"\\u0000"', b"[" * 9999, b"9" * 9999, b'"\xff"', b"{}"]
    ),
)
anything = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts, blobs),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=8,
)
kinds = st.one_of(st.sampled_from([*AttemptOutcome]), texts)
failures = st.one_of(
    st.none(),
    st.lists(anything, max_size=6),
    st.tuples(texts, texts, texts, st.booleans(), numbers, st.lists(texts)),
)
outcome_ends = st.one_of(
    st.tuples(kinds, numbers, numbers, blobs, failures, numbers, texts), st.lists(anything, max_size=8)
)
note_ends = st.one_of(
    st.tuples(numbers, st.lists(st.tuples(numbers, texts, texts), max_size=3), numbers, texts),
    st.lists(anything, max_size=5),
)
checkpoint_ends = st.one_of(
    st.tuples(numbers, st.one_of(st.none(), texts), blobs, numbers), st.lists(anything, max_size=5)
)


def _about(run: Run, end: Any) -> list[Any]:
    return [run.tenant, run.at, run.job, run.attempt, *end]


def _outcomes(ends: list[Any], number: Any) -> Any:
    return lambda run: {"type": "Outcomes", "number": number, "items": [_about(run, end) for end in ends]}


def _notes(ends: list[Any], number: Any) -> Any:
    return lambda run: {"type": "Notes", "number": number, "items": [_about(run, end) for end in ends]}


def _checkpoints(ends: list[Any], number: Any) -> Any:
    return lambda run: {"type": "Checkpoints", "number": number, "items": [_about(run, end) for end in ends]}


def _recall(others: list[Any], times: int) -> Any:
    return lambda run: {"type": "Recall", "items": [_about(run, [])] * times + others}


def _beat(sent: Any, credit: Any, at: Any) -> Any:
    return lambda run: {"type": "Beat", "sent": sent, "credit": credit, "running": [[_about(run, []), at]]}


messages = st.one_of(
    st.builds(_outcomes, st.lists(outcome_ends, max_size=3), numbers),
    st.builds(_notes, st.lists(note_ends, max_size=3), numbers),
    st.builds(_checkpoints, st.lists(checkpoint_ends, max_size=3), numbers),
    st.builds(_recall, st.lists(st.lists(numbers, max_size=4), max_size=2), st.integers(0, 3)),
    st.builds(_beat, numbers, numbers, numbers),
    anything.map(lambda value: lambda _: value),
    st.binary(max_size=50).map(lambda raw: lambda _: raw),
)
hellos = st.one_of(
    st.binary(max_size=50),
    anything,
    st.fixed_dictionaries(
        {"type": st.just("Hello"), "name": texts, "host": texts, "version": texts, "slots": numbers,
         "credit": numbers, "tasks": st.lists(st.tuples(texts, anything, texts), max_size=3)},
        optional={"queues": st.lists(texts), "labels": st.dictionaries(texts, texts),
                  "resources": st.dictionaries(texts, numbers), "weights": st.dictionaries(texts, numbers),
                  "resume": texts, "holding": anything},
    ),
)  # fmt: skip


def _encoded(message: Any) -> bytes:
    return message if isinstance(message, bytes) else msgspec.msgpack.encode(message)


def test_a_hostile_worker_harms_nobody_else(settings: Settings) -> None:
    with asyncio.Runner() as runner:
        node = Node(settings)
        runner.run(node.start())
        try:
            runner.run(_run_for_another_tenant(node))

            @examples(max_examples=60, deadline=None, suppress_health_check=[*HealthCheck])
            @given(hellos, st.lists(messages, min_size=1, max_size=4))
            def attack(hello: Any, said: list[Any]) -> None:
                runner.run(_attack(node, hello, said))
                assert node.health() == {"database": None}

            attack()
            runner.run(_run_for_another_tenant(node))
            in_a_row = [loop.condition._failures for loop in node._loops._loops.values()]
            assert not any(in_a_row)
        finally:
            runner.run(node.stop())


async def _run_for_another_tenant(node: Node) -> None:
    assert await node._access.ensure_tenant("other", "whsec_x") == OTHER
    worker = await ScriptedWorker.connect(node, ["work"], tenant_id=OTHER)
    (job,) = await node.jobs.create(OTHER, [JobRequest(task="work")])
    (run,) = (await worker.next_of(Runs)).items
    await worker.complete_live(run)
    page = await node.history.list(OTHER, ExecutionFilter(job=parse_job_id(job.id)), 1)
    assert [execution.status for execution in page.items] == ["completed"]
    await worker.leave_silently()


async def _attack(node: Node, hello: Any, said: list[Any]) -> None:
    stranger = ScriptedWorker(node, ["work"], HOSTILE)
    stranger._connection._to_server.put_nowait(_encoded(hello))
    await stranger.leave_silently()
    worker = await ScriptedWorker.connect(node, ["work"], tenant_id=HOSTILE)
    await node.jobs.create(HOSTILE, [JobRequest(task="work")])
    (run,) = (await worker.next_of(Runs)).items
    for say in said:
        worker._connection._to_server.put_nowait(_encoded(say(run)))
    await worker.leave_silently()
