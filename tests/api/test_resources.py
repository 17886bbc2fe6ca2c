"""Each resource: what is asked for, and what is answered."""

import re

import pytest

from tickwork.model.access import Scope
from tickwork.model.public_ids import worker_id
from tickwork.model.worker_protocol import Failure
from tickwork.testing.scripted_worker import ScriptedWorker


@pytest.fixture(autouse=True)
async def known_task(clock, still_node):
    await ScriptedWorker.offer_only(still_node, tasks=["report"])


@pytest.fixture
async def foreigner(make_tenant):
    return (await make_tenant("other")).admin


@pytest.fixture
async def visitor(still_node, connect):
    """Has no key."""
    return await connect(still_node, None)


@pytest.fixture
async def job(client):
    return (await client.post("/v1/jobs", json={"task": "report", "key": "weekly"})).json()


async def test_a_created_job_has_a_location_and_a_version(client, still_node):
    answer = await client.post("/v1/jobs", json={"task": "report", "name": "weekly report"})
    assert answer.status_code == 201
    assert answer.headers["location"] == f"/v1/jobs/{answer.json()['id']}"
    assert answer.headers["etag"] == '"1"'
    assert answer.json()["next_run_at"] == f"{await still_node._read.now():%Y-%m-%dT12:00:00Z}"
    assert (await client.get(answer.headers["location"])).json() == answer.json()


async def test_another_tenants_job_does_not_exist(foreigner, job):
    for method, path in [("GET", ""), ("DELETE", ""), ("POST", "/run"), ("GET", "/executions")]:
        answer = await foreigner.request(method, f"/v1/jobs/{job['id']}{path}")
        assert answer.status_code == 404
        assert answer.json()["detail"] == f"there is no job {job['id']}"


@pytest.mark.parametrize("text", ["1", "w1", "j", "jil", "j" + "z" * 13, "e1-1", "%00", "j1%2f.."])
async def test_an_id_that_cannot_be_one_is_not_found(client, text):
    assert (await client.get(f"/v1/jobs/{text}")).status_code == 404


async def test_filters_go_together(client):
    fits = {
        "task": "report", "queue": "q", "priority": "low", "tags": ["x"], "name": "weekly report",
        "schedule": {"at": "2099-01-31T12:00:00Z"},
    }  # fmt: skip
    others = [
        {**fits, **other} for other in ({"queue": "r"}, {"priority": "high"}, {"tags": []}, {"name": "x"})
    ]
    created = (await client.post("/v1/jobs/batch", json=[fits, fits, *others])).json()["items"]
    first, second = (job["id"] for job in created[:2])
    for job in (first, second):
        await client.post(f"/v1/jobs/{job}/pause")
    query = "status=paused&task=report&queue=q&priority=low&tag=x&q=rep&sort=created_at&limit=500"
    answer = await client.get(f"/v1/jobs?{query}")
    assert [job["id"] for job in answer.json()["items"]] == [first, second]


async def test_a_list_has_50_items_unless_asked(client):
    assert (await client.get("/v1/jobs")).json() == {"items": [], "next_cursor": None, "count": None}
    await client.post("/v1/jobs/batch", json=[{"task": "report"}] * 51)
    answer = (await client.get("/v1/jobs")).json()
    assert len(answer["items"]) == 50
    assert len((await client.get(f"/v1/jobs?cursor={answer['next_cursor']}")).json()["items"]) == 1
    assert len((await client.get("/v1/jobs?limit=500")).json()["items"]) == 51


async def test_a_patch_changes_only_what_was_sent(client):
    asked = {"task": "report", "name": "weekly", "retry": {"jitter": 0.5}, "payload": {"a": 1, "b": 2}}
    job = (await client.post("/v1/jobs", json=asked)).json()
    patch = {"name": None, "retry": {"max_attempts": 2}, "payload": {"a": None}}
    headers = {"if-match": '"1"', "content-type": "application/merge-patch+json"}
    answer = await client.patch(f"/v1/jobs/{job['id']}", json=patch, headers=headers)
    assert answer.headers["etag"] == '"2"'
    assert answer.json() == job | {
        "name": None,
        "retry": job["retry"] | {"max_attempts": 2},
        "payload": {"b": 2},
        "version": 2,
    }


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
@pytest.mark.parametrize(
    ("if_match", "status"), [('"1"', 200), ("*", 200), ('"2"', 412), ("1", 412), ('W/"1"', 412), ('"x"', 412)]
)
async def test_a_change_meant_for_another_version_is_refused(client, job, method, if_match, status):
    body = {"json": {}} if method == "PATCH" else {}
    answer = await client.request(method, f"/v1/jobs/{job['id']}", headers={"if-match": if_match}, **body)
    assert answer.status_code == status


async def test_a_job_run_now_answers_with_its_execution(client, job):
    answer = await client.post(f"/v1/jobs/{job['id']}/run")
    assert answer.status_code == 201
    assert answer.headers["location"] == f"/v1/executions/{answer.json()['id']}"
    assert (await client.get(answer.headers["location"])).json() == answer.json()


async def test_what_the_state_does_not_allow_is_a_conflict(client, job):
    assert (await client.post(f"/v1/jobs/{job['id']}/resume")).status_code == 200
    await client.delete(f"/v1/jobs/{job['id']}")
    answer = await client.post(f"/v1/jobs/{job['id']}/pause")
    assert answer.status_code == 409
    assert answer.json()["detail"] == f"job {job['id']} is cancelled: create a new one"


async def test_executions_are_found_by_filter_and_by_job(client, still_node):
    worker = await ScriptedWorker.connect(still_node, tasks=["report"])
    failing = {"task": "report", "retry": {"max_attempts": 1}}
    wanted, other = [(await client.post("/v1/jobs", json=failing)).json()["id"] for _ in range(2)]
    await still_node.step("claim")
    for run in await worker.runs():
        await worker.fail(run, Failure("Error", "broken"))
    query = f"status=failed&task=report&worker={worker_id(worker.welcome.worker)}&since=2026-01-01T00:00:00Z"
    everywhere = (await client.get(f"/v1/executions?{query}")).json()["items"]
    assert {execution["job_id"] for execution in everywhere} == {wanted, other}
    found = (await client.get(f"/v1/executions?{query}&job={wanted}")).json()["items"]
    assert [execution["job_id"] for execution in found] == [wanted]
    assert (await client.get(f"/v1/jobs/{wanted}/executions?limit=1")).json()["items"] == found


async def test_an_execution_can_be_looked_at_and_cancelled(client, job):
    execution = (await client.post(f"/v1/jobs/{job['id']}/run")).json()["id"]
    assert (await client.get(f"/v1/executions/{execution}/attempts")).json()["items"] == []
    assert (await client.post(f"/v1/executions/{execution}/cancel")).status_code == 200
    assert (await client.get("/v1/executions/e1")).status_code == 404


async def test_workers_and_tasks_are_lists(client, still_node):
    connected = await ScriptedWorker.connect(still_node, tasks=["report"])
    worker = worker_id(connected.welcome.worker)
    assert (await client.get("/v1/workers")).json()["items"][0]["id"] == worker
    assert (await client.get(f"/v1/workers/{worker}")).json()["status"] == "online"
    assert (await client.get("/v1/tasks")).json()["items"][0]["name"] == "report"


async def test_a_preview_needs_only_the_right_to_read(connect_with):
    reader = await connect_with(Scope.READ)
    answer = await reader.post("/v1/schedules/preview", json={"schedule": "0 9 * * MON", "count": 3})
    assert list(answer.json()) == ["canonical", "words", "times", "warnings"]
    assert answer.json()["canonical"]["cron"] == "0 9 * * 1"
    assert len(answer.json()["times"]) == 3


async def test_a_preview_says_what_is_missing(client):
    answer = await client.post("/v1/schedules/preview", json={"count": 1000})
    assert {error["path"] for error in answer.json()["errors"]} == {"schedule", "count"}


async def test_a_new_key_tells_its_secret_and_a_listed_one_does_not(client):
    made = await client.post("/v1/keys", json={"name": "deploy", "scopes": ["write"]})
    assert made.status_code == 201
    assert made.json()["secret"].startswith("tw_")
    assert "secret" not in (await client.get("/v1/keys")).text
    assert (await client.delete(f"/v1/keys/{made.json()['id']}")).status_code == 200


async def test_a_key_needs_scopes_that_exist(client):
    answer = await client.post("/v1/keys", json={"name": "deploy", "scopes": ["write", "root"]})
    assert answer.json()["errors"][0]["path"] == "scopes[1]"
    answer = await client.post("/v1/keys", json={"name": "deploy", "scopes": []})
    assert answer.json()["errors"][0]["path"] == "scopes"


async def test_readiness_follows_the_node(client, still_node):
    assert (await client.get("/readyz")).json() == {"ready": True, "checks": {"database": True}}
    await still_node._database.close()
    assert (await client.get("/v1/jobs")).status_code == 503
    answer = await client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["detail"].startswith("not ready: database")
    assert (await client.get("/livez")).status_code == 200
    await still_node._database.open()


async def test_metrics_count_requests_by_route_and_never_by_id(client, job):
    await client.get(f"/v1/jobs/{job['id']}")
    await client.request("BREW", "/v1/made-up")
    metrics = (await client.get("/metrics")).text
    assert 'tickwork_api_request_seconds_count{method="GET",route="/v1/jobs/{id}",status="200"}' in metrics
    assert 'method="other",route="unknown",status="404"' in metrics
    assert job["id"] not in metrics
    assert "made-up" not in metrics


async def test_metrics_are_for_the_operator_not_for_a_tenant(foreigner):
    answer = await foreigner.get("/metrics")
    assert answer.status_code == 403
    assert "tenant default" in answer.json()["detail"]


async def test_the_docs_page_loads_nothing_from_elsewhere(visitor):
    pages = [await visitor.get(path) for path in ("/docs", "/docs/docs.js", "/docs/try.js", "/docs/docs.css")]
    assert (await visitor.get("/docs/secret.txt")).status_code == 404
    for page in pages:
        assert page.status_code == 200
        assert "http://" not in page.text
        assert "https://" not in page.text
        assert "innerHTML" not in page.text
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert "unsafe" not in page.headers["content-security-policy"]
    assert "<style" not in pages[0].text
    assert "style=" not in pages[0].text


async def test_the_document_is_served_without_a_key_and_holds_no_secret(visitor):
    answer = await visitor.get("/v1/openapi.json")
    assert not re.search(r"tw_\w", answer.text)  # the example of a key is tw_…
    assert answer.json()["openapi"] == "3.1.0"
    assert "/v1/jobs" in answer.json()["paths"]
