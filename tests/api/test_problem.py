"""Every refusal has the same shape, tells what is needed, and gives nothing away."""

import httpx2
import pytest
from structlog.testing import capture_logs

from api.conftest import client_of
from tickwork.api.problem import PROBLEM_TYPES
from tickwork.model.errors import Conflict, Invalid, KeyReused, NotAllowed, NotFound, Stale, Unavailable

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def client(shared_client: httpx2.AsyncClient) -> httpx2.AsyncClient:
    return shared_client


@pytest.fixture
async def visitor(shared_node):
    """Has no key."""
    async with client_of(shared_node, None) as client:
        yield client


@pytest.mark.parametrize(
    ("error", "status", "slug"),
    [
        (Invalid.field("task", "is not offered"), 422, "invalid-request"),
        (KeyReused(), 422, "idempotency-key-reused"),
        (NotFound("job", "j1"), 404, "not-found"),
        (Conflict("the job has ended"), 409, "conflict"),
        (Stale("changed"), 412, "stale-version"),
        (NotAllowed("only for its own tenant"), 403, "not-allowed"),
        (Unavailable("connection to 10.0.0.7 refused"), 503, "unavailable"),
    ],
)
async def test_each_error_of_the_model_has_its_status(client, shared_node, monkeypatch, error, status, slug):
    async def fail(*_):
        raise error

    monkeypatch.setattr(shared_node.jobs, "patch", fail)
    answer = await client.patch("/v1/jobs/j1", json={})
    problem = answer.json()
    assert answer.status_code == problem["status"] == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["type"] == f"/docs/problems/{slug}"
    assert set(problem) == {"type", "title", "status", "detail", "errors", "request_id"}


async def test_an_outage_says_when_to_come_back_and_not_where_the_database_is(
    client, shared_node, monkeypatch
):
    async def fail(*_):
        raise Unavailable("connection to 10.0.0.7 refused")

    monkeypatch.setattr(shared_node.tasks, "list", fail)
    answer = await client.get("/v1/tasks")
    assert int(answer.headers["retry-after"]) > 0
    assert "10.0.0.7" not in answer.text


async def test_an_unforeseen_error_is_logged_and_told_only_by_its_request_id(
    client, shared_node, monkeypatch
):
    async def fail(*_):
        raise RuntimeError("the password is hunter2")

    monkeypatch.setattr(shared_node.jobs, "create_grouped", fail)
    with capture_logs() as logs:
        answer = await client.post("/v1/jobs", json={"task": "report"})
    assert answer.status_code == 500
    assert "hunter2" not in answer.text
    assert "Traceback" not in answer.text
    (entry,) = logs
    assert entry["request_id"] == answer.json()["request_id"] == answer.headers["x-request-id"]
    assert entry["route"] == "/v1/jobs"
    assert "hunter2" in str(entry["exc_info"])


async def test_every_answer_has_a_request_id_and_is_not_kept(client):
    for path in ("/livez", "/v1/tasks", "/v1/nothing"):
        answer = await client.get(path)
        assert answer.headers["x-request-id"]
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_the_request_id_of_the_client_is_kept_when_it_is_plain(client):
    assert (await client.get("/livez", headers={"x-request-id": "abc-1"})).headers["x-request-id"] == "abc-1"
    odd = (await client.get("/livez", headers={"x-request-id": "a b\tc" * 99})).headers["x-request-id"]
    assert odd.isalnum()


@pytest.mark.parametrize("kind", PROBLEM_TYPES, ids=lambda kind: kind.slug)
async def test_each_type_of_problem_has_a_page(visitor, kind):
    page = await visitor.get(kind.uri)
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert kind.title in page.text
    assert page.text.count("<article") == 1


async def test_one_page_has_all_problems(visitor):
    page = await visitor.get("/docs/problems")
    assert (await visitor.get("/docs/problems/nonsense")).status_code == 404
    assert page.text.count("<article") == len(PROBLEM_TYPES)
