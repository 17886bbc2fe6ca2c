"""The URL of a ping: whoever has it reports for that ping by plain HTTP, and can do nothing else."""

from urllib.parse import urlsplit

import httpx2
import pytest

from api.conftest import Connect
from tickwork.node import Node
from tickwork.ping.define_receive_and_watch_pings import MOST_SIGNALS

NIGHTLY = {"schedule": "0 2 * * *", "grace": "30m"}


@pytest.fixture
async def url(client: httpx2.AsyncClient) -> str:
    """The path of a new ping's URL."""
    return urlsplit((await client.put("/v1/pings/backup", json=NIGHTLY)).json()["url"]).path


@pytest.fixture
async def nobody(still_node: Node, connect: Connect) -> httpx2.AsyncClient:
    """A client without a key."""
    return await connect(still_node, None)


async def last_run(client: httpx2.AsyncClient) -> dict:
    return (await client.get("/v1/pings/backup/history")).json()["items"][0]


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
async def test_reports_success_without_a_key_and_prints_nothing(
    client: httpx2.AsyncClient, nobody: httpx2.AsyncClient, url: str, method: str
) -> None:
    answer = await nobody.request(method, url)
    assert (answer.status_code, answer.content) == (200, b"")
    assert (await client.get("/v1/pings/backup")).json()["status"] == "ok"


@pytest.mark.parametrize(
    ("ending", "outcome", "exit_code"),
    [
        ("/success", "success", None),
        ("/fail", "failed", None),
        ("/0", "success", 0),
        ("/1", "failed", 1),
        ("/255", "failed", 255),
    ],
)
async def test_says_what_became_of_a_run(
    client: httpx2.AsyncClient,
    nobody: httpx2.AsyncClient,
    url: str,
    ending: str,
    outcome: str,
    exit_code: int | None,
) -> None:
    await nobody.get(f"{url}/start")
    assert (await nobody.get(url + ending)).status_code == 200
    run = await last_run(client)
    assert (run["outcome"], run["exit_code"], run["started_at"] is not None) == (outcome, exit_code, True)


@pytest.mark.parametrize("ending", ["/256", "/-1", "/nothing", "/start/start", "/\uff11"])
async def test_does_not_know_other_endings(nobody: httpx2.AsyncClient, url: str, ending: str) -> None:
    assert (await nobody.get(url + ending)).status_code in (401, 404)


@pytest.mark.parametrize(
    "headers",
    [{}, {"content-type": "application/x-www-form-urlencoded"}, {"content-type": "application/octet-stream"}],
)
async def test_takes_a_log_of_any_kind_and_keeps_its_end(
    client: httpx2.AsyncClient, nobody: httpx2.AsyncClient, url: str, headers: dict[str, str]
) -> None:
    body = b"\xff\x00begin" + b"x" * 500_000 + "the end é".encode()
    answer = await nobody.post(f"{url}/fail", content=body, headers=headers)
    assert answer.status_code == 200
    log = (await last_run(client))["log"]
    assert (len(log), log[-9:]) == (10_000, "the end é")


async def test_logs_of_a_run_are_gathered_until_it_ends(
    client: httpx2.AsyncClient, nobody: httpx2.AsyncClient, url: str
) -> None:
    await nobody.get(f"{url}/start")
    await nobody.post(f"{url}/log", content=b"one\n")
    await nobody.post(f"{url}/log", content=b"two\n")
    await nobody.post(url, content=b"three\n")
    assert (await last_run(client))["log"] == "one\ntwo\nthree\n"


async def test_refuses_a_log_that_is_far_too_large(nobody: httpx2.AsyncClient, url: str) -> None:
    assert (await nobody.post(url, content=b"x" * 1_100_000)).status_code == 413


async def test_parameters_that_somebody_adds_do_no_harm(nobody: httpx2.AsyncClient, url: str) -> None:
    assert (await nobody.get(f"{url}?utm_source=mail&x=%ff")).status_code == 200


@pytest.mark.parametrize("token", ["twp_nonsense", "x", "x" * 5000, "%00", "..%2f..%2fv1%2fjobs"])
async def test_a_token_that_nobody_has_is_not_found(nobody: httpx2.AsyncClient, token: str) -> None:
    answer = await nobody.get(f"/ping/{token}")
    assert answer.status_code in (401, 404)


async def test_a_token_opens_nothing_else(nobody: httpx2.AsyncClient, url: str) -> None:
    token = url.rpartition("/")[2]
    for path in ("/v1/pings", "/v1/pings/backup", "/v1/jobs", "/v1/cluster"):
        answer = await nobody.get(path, headers={"authorization": f"Bearer {token}"})
        assert answer.status_code == 401


async def test_a_url_that_is_called_too_often_has_to_wait(
    client: httpx2.AsyncClient, nobody: httpx2.AsyncClient, url: str
) -> None:
    for _ in range(MOST_SIGNALS):
        assert (await nobody.get(url)).status_code == 200
    answer = await nobody.get(url)
    assert (answer.status_code, answer.json()["type"]) == (429, "/docs/problems/too-many-signals")
    assert 0 < int(answer.headers["retry-after"]) <= 60
    other = (await client.put("/v1/pings/other", json=NIGHTLY)).json()["url"]
    assert (await nobody.get(urlsplit(other).path)).status_code == 200


async def test_answers_503_while_the_database_is_away(
    nobody: httpx2.AsyncClient, still_node: Node, url: str
) -> None:
    await still_node._database.close()
    answer = await nobody.get(url)
    assert (answer.status_code, "retry-after" in answer.headers) == (503, True)
