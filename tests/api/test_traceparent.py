"""The `traceparent` of requests that define jobs, and what REST workers get of it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import httpx2
import pytest

from support.otlp_receiver import OtlpReceiver, receiving_spans
from support.rest_worker import RestWorker
from tickwork.config import Settings
from tickwork.model.current_span_and_job_origin import trace_id_in
from tickwork.testing.scripted_worker import ScriptedWorker

JOB = {"task": "work"}


def traceparent(number: int, flags: str = "01") -> dict[str, str]:
    return {"traceparent": f"00-{number:032x}-{number:016x}-{flags}"}


@pytest.fixture
async def receiver(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[OtlpReceiver]:
    """With a sampler that samples nothing unless the caller does."""
    async with receiving_spans() as receiver:
        for name, value in receiver.env(OTEL_TRACES_SAMPLER="parentbased_always_off").items():
            monkeypatch.setenv(name, value)
        yield receiver


@pytest.fixture
def settings(receiver: OtlpReceiver, database_url: str, tmp_path: Path) -> Settings:
    return Settings(database_url=database_url, data_dir=tmp_path, tracing=True)


async def origins(connection: asyncpg.Connection) -> list[str | None]:
    return [row["trace_origin"] for row in await connection.fetch("SELECT * FROM tickwork.job ORDER BY id")]


async def test_requests_that_share_a_commit_keep_their_own_traces(
    client: httpx2.AsyncClient, worker: ScriptedWorker, receiver: OtlpReceiver, connection: asyncpg.Connection
) -> None:
    numbers = range(1, 21)
    answers = await asyncio.gather(
        *(
            client.post("/v1/jobs", json=JOB | {"key": str(number)}, headers=traceparent(number))
            for number in numbers
        )
    )
    assert {answer.status_code for answer in answers} == {201}
    for row in await connection.fetch("SELECT key, trace_origin FROM tickwork.job"):
        relation, stored = row["trace_origin"].split(" ")
        assert (relation, trace_id_in(stored)) == ("parent", f"{int(row['key']):032x}")


async def test_a_batch_is_created_by_one_span(
    client: httpx2.AsyncClient, worker: ScriptedWorker, receiver: OtlpReceiver, connection: asyncpg.Connection
) -> None:
    batch = [JOB, JOB | {"schedule": "every 1h"}]
    assert (await client.post("/v1/jobs/batch", json=batch, headers=traceparent(1))).status_code == 201
    create = await receiver.span("create", messaging__batch__message_count=2)
    assert create.parent_id == f"{1:016x}"
    assert await origins(connection) == [f"parent {create.traceparent}", f"link {create.traceparent}"]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        traceparent(1, flags="00"),
        {"traceparent": "nonsense"},
        {"traceparent": "00-" + "0" * 32 + "-1-01"},
    ],
    ids=["none", "not sampled", "nonsense", "no trace"],
)
async def test_a_request_that_is_not_sampled_leaves_no_trace(
    client: httpx2.AsyncClient,
    worker: ScriptedWorker,
    connection: asyncpg.Connection,
    headers: dict[str, str],
) -> None:
    assert (await client.post("/v1/jobs", json=JOB, headers=headers)).status_code == 201
    assert await origins(connection) == [None]


async def test_a_refused_request_says_why_in_its_span_and_is_no_error_of_the_server(
    client: httpx2.AsyncClient, receiver: OtlpReceiver
) -> None:
    assert (await client.post("/v1/jobs", json=JOB, headers=traceparent(1))).status_code == 422
    create = await receiver.span("create work")
    assert (create.attributes["error.type"], create.status) == ("Invalid", "UNSET")


async def test_an_edit_is_a_span_that_the_job_links_to(
    client: httpx2.AsyncClient, worker: ScriptedWorker, receiver: OtlpReceiver, connection: asyncpg.Connection
) -> None:
    job = (await client.post("/v1/jobs", json=JOB | {"schedule": "every 1h"})).json()["id"]
    edited = await client.patch(f"/v1/jobs/{job}", json={"priority": "high"}, headers=traceparent(2))
    assert edited.status_code == 200
    edit = await receiver.span("edit", tickwork__job__id=job)
    assert await origins(connection) == [f"link {edit.traceparent}"]


async def test_a_rest_worker_gets_the_traceparent_with_the_execution(
    client: httpx2.AsyncClient, receiver: OtlpReceiver
) -> None:
    rest = await RestWorker.register(client, slots=2)
    for headers in (traceparent(1), {}):
        await client.post("/v1/jobs", json=JOB, headers=headers)
    first, second = await rest.claim(most=2)
    handover = await receiver.span("hand over work")
    assert (first["traceparent"], second["traceparent"]) == (handover.traceparent, None)
    assert [span.name for span in await receiver.chain_to(handover, caller=f"{1:016x}")] == [
        "create work",
        "hand over work",
    ]
