"""What is sent, what is sent again, and what the answers become."""

import msgspec
import pytest

from support.sample_answers import JOB, page
from tickwork.client.async_client import AsyncClient
from tickwork.client.sync_client import Client
from tickwork.model.errors import (
    Conflict,
    Invalid,
    NotAllowed,
    NotFound,
    QueueFull,
    Stale,
    TickworkError,
    Unavailable,
)
from tickwork.model.job import JobRequest


@pytest.fixture
def client(server):
    with Client(server.url, "secret") as client:
        yield client


@pytest.fixture
def no_pauses(monkeypatch):
    """Retries come at once."""
    monkeypatch.setattr("tickwork.client.request_retry_answer._LONGEST_PAUSE", 0.0)


def test_sends_the_key_and_decodes_the_answer(server, client):
    server.will_answer(JOB)
    assert client.get_job("j5") == JOB
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("GET", "/v1/jobs/j5")
    assert asked.headers["authorization"] == "Bearer secret"


def test_quotes_what_is_put_into_a_path(server, client):
    server.will_answer(JOB)
    client.get_job("../keys?x=1")
    assert server.asked[0].path == "/v1/jobs/..%2Fkeys%3Fx%3D1"


def test_sends_only_the_filters_that_were_given(server, client):
    server.will_answer(page(JOB))
    client.list_jobs(status="active", limit=5)
    assert server.asked[0].query == {"status": ["active"], "limit": ["5"]}


def test_creates_a_job_from_a_request_or_from_its_fields(server, client):
    server.will_answer(JOB, 201)
    client.create_job(JobRequest(task="report", payload={"to": "a@b.c"}))
    client.create_job(task="report", payload={"to": "a@b.c"})
    first, second = server.asked
    assert first.json == second.json == {"task": "report", "payload": {"to": "a@b.c"}}
    with pytest.raises(TypeError, match="not both"):
        client.create_job(JobRequest(task="report"), name="x")


def test_a_lost_answer_to_a_post_is_asked_for_again_under_the_same_key(server, client, no_pauses):
    server.will_hang_up()
    server.will_answer(JOB, 201)
    assert client.create_job(task="report") == JOB
    first, second = server.asked
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert len(first.headers["idempotency-key"]) == 32


def test_every_post_has_a_key_of_its_own(server, client):
    server.will_answer(JOB)
    client.pause_job("j5")
    client.pause_job("j5")
    first, second = server.asked
    assert first.headers["idempotency-key"] != second.headers["idempotency-key"]


def test_waits_for_a_first_sending_that_is_still_worked_on(server, client, no_pauses):
    server.will_refuse(409, "still being worked on", retry_after="1")
    server.will_answer(JOB, 201)
    assert client.create_job(task="report") == JOB


def test_a_guarded_edit_is_not_repeated_after_a_lost_answer(server, client, no_pauses):
    server.will_hang_up()
    with pytest.raises(Unavailable):
        client.edit_job("j5", {"name": "x"}, if_match=3)
    (asked,) = server.asked
    assert asked.headers["if-match"] == '"3"'
    assert asked.headers["content-type"] == "application/merge-patch+json"


def test_a_new_key_is_not_asked_for_twice_because_its_secret_is_told_once(server, client, no_pauses):
    server.will_hang_up()
    with pytest.raises(Unavailable):
        client.create_key("deploy", scopes=["write"])
    assert len(server.asked) == 1


def test_gives_up_on_a_busy_server_after_the_given_retries(server, no_pauses):
    server.will_refuse(503, "the database is away")
    with (
        Client(server.url, "secret", retries=2) as client,
        pytest.raises(Unavailable, match=r"database is away \(request r1\)"),
    ):
        client.get_job("j5")
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Invalid),
        (401, NotAllowed),
        (403, NotAllowed),
        (404, NotFound),
        (409, Conflict),
        (412, Stale),
        (413, Invalid),
        (422, Invalid),
        (429, Unavailable),
        (500, Unavailable),
        (503, Unavailable),
    ],
)
def test_each_refusal_becomes_its_exception(server, status, kind):
    server.will_refuse(status, "because")
    with Client(server.url, "secret", retries=0) as client, pytest.raises(kind) as caught:
        client.get_job("j5")
    assert type(caught.value) is kind


def test_a_full_queue_is_tried_again_and_then_told(server, no_pauses):
    problem = {"type": "/docs/problems/queue-full", "title": "", "detail": "queue mail is full"}
    server.will_answer(problem, 429, **{"Retry-After": "2"})
    with Client(server.url, "secret", retries=2) as client, pytest.raises(QueueFull, match="mail is full"):
        client.create_job(task="report")
    assert len(server.asked) == 3


def test_a_request_that_is_still_being_worked_on_is_not_refused(server, no_pauses):
    server.will_refuse(409, "in flight", **{"Retry-After": "1"})
    with Client(server.url, "secret", retries=1) as client, pytest.raises(Unavailable):
        client.create_job(task="report")


def test_a_batch_can_be_sent_under_a_key_of_its_own(server, client):
    server.will_answer(page(), 201)
    client.create_job_batch(b"[]", idempotency_key="batch-1")
    assert server.asked[0].headers["idempotency-key"] == "batch-1"


def test_names_what_was_not_found(server, client):
    server.will_refuse(404, "there is no job j5")
    with pytest.raises(NotFound) as caught:
        client.pause_job("j5")
    assert (caught.value.kind, caught.value.name) == ("job", "j5")


def test_keeps_every_bad_field(server, client):
    errors = [
        {"path": "schedule", "message": "never fires", "hint": None},
        {"path": "tz", "message": "unknown", "hint": "UTC"},
    ]
    server.will_refuse(422, "2 fields are wrong", errors)
    with pytest.raises(Invalid) as caught:
        client.create_job(task="report")
    assert [tuple(error) for error in caught.value.errors] == [
        ("schedule", "never fires", None),
        ("tz", "unknown", "UTC"),
    ]


def test_an_answer_of_something_else_is_no_crash(server, client):
    server.will_answer(b"<html>hello</html>")
    with pytest.raises(TickworkError, match="does not answer like a Tickwork server"):
        client.get_job("j5")


def test_a_gateway_without_a_server_behind_it_is_unavailable(server, no_pauses):
    server.will_answer(b"<html>bad gateway</html>", 502)
    with Client(server.url, "secret", retries=0) as client, pytest.raises(Unavailable, match="answered 502"):
        client.get_job("j5")


def test_a_server_that_is_not_there_is_unavailable(server):
    url = server.url
    server._http.server_close()
    with (
        Client(url, "secret", retries=0) as client,
        pytest.raises(Unavailable, match="no answer from http://127"),
    ):
        client.get_job("j5")


def test_goes_through_all_pages(server, client):
    server.will_answer(page(JOB, next_cursor="c1"))
    server.will_answer(page(JOB))
    assert list(client.iter_jobs(status="active")) == [JOB, JOB]
    assert [asked.query.get("cursor") for asked in server.asked] == [None, ["c1"]]


def test_sends_many_jobs_in_batches(server, client, monkeypatch):
    monkeypatch.setattr("tickwork.client.batch_and_bulk_requests.LARGEST_BATCH", 2)
    server.will_answer(page({"id": "j1", "key": None, "next_run_at": None}), 201)
    created = client.create_jobs({"task": "report", "payload": number} for number in range(5))
    assert [len(msgspec.json.decode(asked.body)) for asked in server.asked] == [2, 2, 1]
    assert [job.id for job in created] == ["j1", "j1", "j1"]


def test_a_batch_holds_no_more_values_than_a_server_takes(server, client, monkeypatch):
    monkeypatch.setattr("tickwork.client.batch_and_bulk_requests._MOST_VALUES", 25)
    server.will_answer(page(), 201)
    client.create_jobs({"task": "x", "payload": list(range(10))} for _ in range(3))
    assert [len(msgspec.json.decode(asked.body)) for asked in server.asked] == [1, 1, 1]


def test_a_batch_stays_within_what_a_server_reads(server, client, monkeypatch):
    monkeypatch.setattr("tickwork.client.batch_and_bulk_requests._LARGEST_BODY", 100)
    server.will_answer(page(), 201)
    client.create_jobs([{"task": "x" * 60}, {"task": "y" * 60}, {"task": "z" * 200}])
    assert [len(msgspec.json.decode(asked.body)) for asked in server.asked] == [1, 1, 1]


async def test_the_async_client_sends_and_retries_the_same(server, no_pauses):
    server.will_hang_up()
    server.will_answer(JOB, 201)
    async with AsyncClient(server.url, "secret") as client:
        assert await client.create_job(task="report") == JOB
        first, second = server.asked
        assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
        server.will_answer(page(JOB, next_cursor="c1"))
        server.will_answer(page(JOB))
        assert await client.get_job("j5") == JOB
        assert [job async for job in client.iter_jobs()] == [JOB, JOB]


def test_both_clients_offer_the_same_calls():
    def calls(kind):
        return {name for name in vars(kind) if not name.startswith("_")}

    assert calls(Client) == calls(AsyncClient)
