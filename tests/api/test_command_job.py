"""Jobs with commands over the API: what is shown, what may be changed, and that secrets are never read back."""

from typing import Any

import asyncpg
import httpx2
import msgspec
import pytest

SECRET = "s3cret-of-the-environment"
COMMAND = {
    "command": ["backup-db", "--full"],
    "env": {"BUCKET": "backups", "API_TOKEN": SECRET},
    "cwd": "/srv",
    "exit_codes": {"success": [0, 1]},
    "process_limits": {"memory": "512Mi", "cpu_time": "5m"},
}
JOB = {**COMMAND, "schedule": "30 2 * * *", "key": "backup"}


@pytest.fixture
async def job(client: httpx2.AsyncClient) -> dict[str, Any]:
    answer = await client.post("/v1/jobs", json=JOB)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def stored(connection: asyncpg.Connection) -> dict[str, Any]:
    row = await connection.fetchrow(
        "SELECT target, definition, task FROM tickwork.job ORDER BY id DESC LIMIT 1"
    )
    assert row["task"] == "command"
    target: dict[str, Any] = msgspec.json.decode(row["target"])
    definition = msgspec.json.decode(row["definition"])
    assert definition["env"] == target["env"]
    assert definition["command"] == target["command"]
    return target


async def test_is_shown_with_its_defaults_and_without_its_secrets(
    client: httpx2.AsyncClient, job: dict[str, Any], connection: asyncpg.Connection
) -> None:
    assert {name: job[name] for name in ("task", "http", "command", "env", "cwd", "stdin")} == {
        "task": None,
        "http": None,
        "command": ["backup-db", "--full"],
        "env": {"BUCKET": "backups", "API_TOKEN": "***"},
        "cwd": "/srv",
        "stdin": None,
    }
    assert job["exit_codes"] == {"success": [0, 1], "final": []}
    assert job["process_limits"] == {
        "memory": 512 * 1024**2,
        "cpu_time": 300,
        "output": 100 * 1024**2,
        "files": None,
        "processes": None,
    }
    assert (await stored(connection))["env"]["API_TOKEN"] == SECRET
    for path in ("", "/changes", "/graph"):
        assert SECRET not in (await client.get(f"/v1/jobs/{job['id']}{path}")).text
    assert SECRET not in (await client.get("/v1/jobs")).text


async def test_a_patch_of_something_else_keeps_the_secret(
    client: httpx2.AsyncClient, job: dict[str, Any], connection: asyncpg.Connection
) -> None:
    path = f"/v1/jobs/{job['id']}"
    patches = [{"tags": ["a"]}, {"env": job["env"]}, {"process_limits": job["process_limits"]}]
    for patch in patches:
        assert (await client.patch(path, json=patch)).status_code == 200
    assert (await stored(connection))["env"] == COMMAND["env"]


async def test_a_patch_of_the_command_needs_the_secret_again(
    client: httpx2.AsyncClient, job: dict[str, Any], connection: asyncpg.Connection
) -> None:
    path = f"/v1/jobs/{job['id']}"
    for patch in ({"command": ["printenv"]}, {"env": {"DEBUG": "1"}}, {"cwd": "/tmp"}, {"stdin": "x"}):  # noqa: S108
        refused = await client.patch(path, json=patch)
        assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, "env.API_TOKEN")
        assert SECRET not in refused.text
    changed = await client.patch(path, json={"command": ["backup-all"], "env": {"API_TOKEN": "an0ther-one"}})
    assert changed.status_code == 200
    assert (await stored(connection))["env"]["API_TOKEN"] == "an0ther-one"
    assert "an0ther-one" not in (await client.get(f"{path}/changes")).text


async def test_a_replacement_with_marks_keeps_the_secret(
    client: httpx2.AsyncClient, job: dict[str, Any], connection: asyncpg.Connection
) -> None:
    again = {**JOB, "env": job["env"], "if_exists": "replace", "description": "new"}
    assert (await client.post("/v1/jobs", json=again)).status_code in (200, 201)
    assert (await stored(connection))["env"] == COMMAND["env"]
    other = {**again, "command": ["printenv"]}
    assert (await client.post("/v1/jobs", json=other)).status_code == 422


async def test_a_task_becomes_a_command_and_back(client: httpx2.AsyncClient, job: dict[str, Any]) -> None:
    path = f"/v1/jobs/{job['id']}"
    no_command = dict.fromkeys(("command", "env", "cwd", "exit_codes", "process_limits"))
    http = await client.patch(path, json={**no_command, "http": {"url": "https://a.example/"}})
    assert (http.status_code, http.json()["command"], http.json()["env"]) == (200, None, {})
    assert http.json()["process_limits"] is None
    back = await client.patch(path, json={"http": None, "command": ["true"]})
    assert (back.status_code, back.json()["command"], back.json()["http"]) == (200, ["true"], None)


@pytest.mark.parametrize(
    ("fields", "paths"),
    [
        ({"command": []}, ["command"]),
        ({"command": ["a", 1]}, ["command[1]"]),
        ({"command": "backup-db --full"}, ["command"]),
        ({"command": ["a"], "http": {"url": "https://a.example/"}}, ["task"]),
        ({"command": ["a"], "exit_codes": {"success": [256]}}, ["exit_codes.success[0]"]),
        ({"command": ["a"], "process_limits": {"memory": "1"}}, ["process_limits.memory"]),
        ({"command": ["a"], "process_limits": {"ram": "1Gi"}}, ["process_limits.ram"]),
        ({"http": {"url": "https://a.example/"}, "env": {"A": "b"}}, ["env"]),
    ],
)
async def test_bad_fields_are_named(
    client: httpx2.AsyncClient, fields: dict[str, Any], paths: list[str]
) -> None:
    answer = await client.post("/v1/jobs", json=fields)
    assert (answer.status_code, [error["path"] for error in answer.json()["errors"]]) == (422, paths)
