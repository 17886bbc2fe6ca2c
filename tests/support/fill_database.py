"""Fills a database through the API with one of everything: what has ended, what runs, what waits and for what.

Every table has a row afterwards, or is named in PASSING. It is stored with each release, and later versions go on with
it: what becomes of its jobs then is in GOES_ON. Names that tests of stored databases use (HELD, GATE) never change.
"""

import signal
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import httpx2

from support.cluster import KEY, Cluster
from support.free_port import free_port
from support.waiting import eventually

HELD = "held"  # a queue that is paused
GATE = "gate"  # a file in the folder of the worker: until it is there, some executions do not end
# Rows of these come and go, or need days, a disaster, or an outage of the database.
PASSING = {
    "archive_duty", "archive_part", "cancelled_fan_out", "failover", "fired_to_count", "flapping_job", "job_change",
    "job_segment", "job_term", "job_unended", "migration_progress", "moved_job", "new_event", "node", "past_rule",
    "pulse", "pulse_wanted", "purge", "restored_execution", "retention_mark", "revocation", "sealed_attempt",
    "sealed_checkpoint", "sealed_execution", "sealed_log", "statistic_recount", "statistic_recounted",
    "statistic_remerge", "statistic_writer", "tenant_purge", "watched_queue",
}  # fmt: skip
# Once the queue, the task and the breaker let them go, an hour later, on a new worker with the label zone=b.
GOES_ON = {
    "edited": "completed", "its task is disabled": "completed", "no worker fits": "completed", "held 0": "completed",
    "held 1": "completed", "held 2": "completed", "is retried later": "completed", "gated runs": "completed",
    "gated_thread runs": "completed", "awaits its parent": "completed", "its target reports later": "failed",
    "of a REST worker": "pending", "held by a circuit breaker": "failed", "cancelled": "cancelled",
    "cancelled before it began": "cancelled", "not started in time": "skipped", "plain": "completed",
}  # fmt: skip
_TABLES = """
    SELECT relname FROM pg_class WHERE relnamespace = 'tickwork'::regnamespace
        AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> ALL($1) ORDER BY relname"""
_WITHIN = 60.0
_IN_AN_HOUR = {"in": "1h"}
_OPENS_BREAKER = 12  # failures
_PROBLEM = 400


class DatabaseFilling:
    def __init__(self, cluster: Cluster, target_url: str) -> None:
        """`target_url`: of support.http_target."""
        self._cluster = cluster
        self._target = target_url
        self._http = httpx2.AsyncClient(
            base_url=cluster.urls[0], headers={"Authorization": f"Bearer {KEY}"}, timeout=60, trust_env=False
        )
        self._nowhere = f"http://127.0.0.1:{free_port()}/"

    async def fill(self, connection: asyncpg.Connection) -> None:
        """A server runs. Afterwards the cluster is paused, and what its worker had is in nobody's hands."""
        worker = await self._cluster.add_worker(
            options=["--allow-command", "echo", "--queue", "default", "--queue", HELD, "--label", "zone=a"]
        )
        await self._set_up_access_and_queues()
        await self._set_up_pings_and_channels()
        await self._run_to_the_end()
        await self._leave_waiting()
        await self._leave_running()
        await _until_filled(connection)
        await self._call("POST", "/v1/cluster/pause", {"reason": "the database is stored"})
        worker.send(signal.SIGKILL)
        await self._http.aclose()

    # One request after the other

    async def _call(self, method: str, path: str, body: object = None, **headers: str) -> Any:
        answer = await self._http.request(method, path, json=body, headers=headers)
        assert answer.status_code < _PROBLEM, f"{method} {path} {body}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    async def _create(self, **job: Any) -> dict[str, Any]:
        created: dict[str, Any] = await self._call("POST", "/v1/jobs", job)
        return created

    async def _run(self, status: str, **job: Any) -> str:
        """The id of its execution, which ends like this."""
        created = await self._create(**job)
        path = f"/v1/executions/{created['execution_id']}?wait=30s"
        ended = await self._call("GET", path)
        assert ended["status"] == status, ended
        return str(ended["id"])

    async def _until(self, execution: str, status: str) -> None:
        async def is_so() -> bool:
            return bool((await self._call("GET", f"/v1/executions/{execution}"))["status"] == status)

        await eventually(is_so, within=_WITHIN, what=f"{status} of {execution}")

    # What there is

    async def _set_up_access_and_queues(self) -> None:
        await self._call("POST", "/v1/keys", {"name": "reader", "scopes": ["read"]})
        revoked = await self._call("POST", "/v1/keys", {"name": "revoked", "scopes": ["write"]})
        await self._call("DELETE", f"/v1/keys/{revoked['id']}")
        await self._call("POST", "/v1/session", {"key": KEY})
        await self._call("POST", "/v1/sign-in-links")
        await self._call("PUT", f"/v1/queues/{HELD}", {"max_running": 2, "priority": "high"})
        await self._call("POST", f"/v1/queues/{HELD}/pause")
        await self._call("PUT", "/v1/retention", {"last": 1000})
        await self._call("PUT", "/v1/tasks/declared", {"description": "Nobody offers it yet."})
        await self._call("POST", "/v1/tasks/poison/retire", {"replacement": "quick"})
        await self._call("POST", "/v1/tasks/dying/disable")

    async def _set_up_pings_and_channels(self) -> None:
        ping = await self._call("PUT", "/v1/pings/backup", {"schedule": "every 1h", "grace": "10m"})
        for signal_, body in (("start", {}), ("log", {"log": "half done"}), ("success", {"exit_code": 0})):
            await self._call("POST", f"/v1/pings/backup/{signal_}", body)
        await self._call("PUT", "/v1/pings/prices", {"schedule": "0 3 * * *", "timezone": "Europe/Berlin"})
        await self._call("POST", "/v1/pings/prices/fail", {"log": "no prices", "exit_code": 2})
        await self._call("PUT", "/v1/outside-ping", {"url": self._nowhere})
        receiver = ping["url"] if ping["url"].startswith("http") else self._cluster.urls[0] + ping["url"]
        channels: dict[str, dict[str, Any]] = {
            "hook": {"kind": "webhook", "url": receiver},
            "mail": {"kind": "email", "to": ["a@example.com"], "from": "t@example.com",
                     "smtp": {"host": "127.0.0.1", "port": free_port(), "password": "secret", "username": "t"}},
            "chat": {"kind": "slack", "url": receiver, "window": "1h"},
            "room": {"kind": "teams", "url": receiver},
            "pager": {"kind": "pagerduty", "routing_key": "secret", "url": receiver},
            "alert": {"kind": "opsgenie", "api_key": "secret", "url": receiver},
            "any": {"kind": "apprise", "url": "json://127.0.0.1/"},
        }  # fmt: skip
        for name, channel in channels.items():
            await self._call("PUT", f"/v1/channels/{name}", channel)
        rules: dict[str, dict[str, Any]] = {
            "all-failures": {"on": ["failed"], "to": ["hook", "chat"]},
            "letters": {"on": ["dead_letters"], "to": ["room"], "dead_letters_above": 0},
            "stuck": {"on": ["queue_stuck"], "to": ["room"], "queue": HELD, "stuck_after": "1h"},
        }
        for name, rule in rules.items():
            await self._call("PUT", f"/v1/notification-rules/{name}", rule)

    async def _run_to_the_end(self) -> None:
        kept = {"last": 10}
        await self._run(
            "completed",
            task="quick",
            name="plain",
            tags=["kept"],
            heartbeat_url=self._nowhere,
            retention=kept,
        )
        await self._run("completed", task="threaded", payload={"seconds": 0}, warn_after="5s", deadline="1h")
        await self._run(
            "completed", task="in_process", payload={"seconds": 0}, limits=[{"key": "k", "max_running": 1}]
        )
        await self._run("completed", command=["echo", "hello"], env={"A": "b"})
        await self._run("completed", task="failing", payload={"times": 1}, retry={"initial": "0s"})
        await self._run("completed", task="snoozing", payload={"times": 1}, fair_share={"key": "customer"})
        await self._run("completed", task="stepping", payload={"steps": 3})
        await self._run("failed", task="hopeless", notify=[{"on": ["failed"], "to": ["pager"]}])
        again = await self._run("failed", task="hopeless")
        await self._call("POST", f"/v1/executions/{again}/retry", {"payload": {}})
        await self._until(again, "failed")
        await self._run("completed", http={"url": self._target, "headers": {"X-Secret": "s"}}, payload={})
        await self._run("failed", http={"url": self._nowhere}, retry={"max_attempts": 1})
        await self._call("POST", "/v1/jobs", {"task": "quick"}, **{"Idempotency-Key": "once"})
        listing = {"ref": "list", "task": "graph step", "payload": {"script": "", "retries": 0, "n": 3}}
        each = {
            "task": "graph step",
            "payload": {"script": "", "retries": 0, "n": 1},
            "depends_on": [{"job": "@list", "for_each": {"path": "list", "as": "element"}}],
        }
        made = await self._call("POST", "/v1/jobs/batch", [listing, each])
        await self._until(made["items"][1]["execution_id"], "completed")

        await self._fail_again_and_again()

    async def _fail_again_and_again(self) -> None:
        rounds = {"every": "1s", "max_runs": 2}
        failing = await self._create(
            task="hopeless", name="fails each time", schedule=rounds, overlap="allow", catch_up={"policy": "all"},
            notify=[{"on": ["failed"], "to": ["pager"]}],
        )  # fmt: skip

        async def has_ended() -> bool:
            return bool((await self._call("GET", f"/v1/jobs/{failing['id']}"))["status"] == "completed")

        await eventually(has_ended, within=_WITHIN, what="two rounds that fail")
        call = {"http": {"url": self._nowhere}, "retry": {"max_attempts": 1}}
        await self._call("POST", "/v1/jobs/batch", [call] * _OPENS_BREAKER)
        await eventually(self._has_open_breaker, within=_WITHIN, what="an open circuit breaker")
        held = {**call, "name": "held by a circuit breaker"}
        await self._call(
            "POST", "/v1/jobs/batch", [held] * _OPENS_BREAKER
        )  # more than it tries in the meantime

    async def _has_open_breaker(self) -> bool:
        breakers = (await self._call("GET", "/v1/breakers"))["items"]
        return any(breaker["state"] == "open" for breaker in breakers)

    async def _leave_waiting(self) -> None:
        edited = await self._create(task="quick", name="edited", schedule=_IN_AN_HOUR, tags=["kept"])
        await self._call("PATCH", f"/v1/jobs/{edited['id']}", {"priority": "high"})
        daily = await self._create(
            task="quick", name="daily", schedule="0 3 * * *", timezone="Europe/Berlin", key="daily"
        )
        await self._call("POST", f"/v1/jobs/{daily['id']}/run")
        await self._create(
            task="quick", name="words", schedule="every weekday at 9:00", catch_up={"policy": "all"}
        )
        paused = await self._create(task="quick", name="paused", schedule="every 1h", overlap="queue")
        await self._call("POST", f"/v1/jobs/{paused['id']}/pause")
        cancelled = await self._create(task="quick", name="cancelled", schedule=_IN_AN_HOUR)
        await self._call("DELETE", f"/v1/jobs/{cancelled['id']}")
        await self._create(
            task="not yet known", name="awaits its task", unknown_task="wait", schedule="every 1h"
        )
        await self._create(task="dying", payload={"times": 0}, name="its task is disabled")
        await self._create(task="quick", name="no worker fits", requires={"labels": {"zone": "b"}})
        for number in range(3):
            await self._create(
                task="quick", name=f"held {number}", queue=HELD, limits=[{"key": "k", "max_running": 2}]
            )
        held = await self._create(task="quick", name="cancelled before it began", queue=HELD)
        await self._call("POST", f"/v1/executions/{held['execution_id']}/cancel")
        late = await self._create(task="quick", name="not started in time", queue=HELD, start_within="1s")
        await self._until(late["execution_id"], "skipped")
        retried = await self._create(
            task="failing",
            payload={"times": 1},
            name="is retried later",
            retry={"initial": "20s", "jitter": 0},
        )
        await self._until_attempt(retried["execution_id"], 2)
        begin = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
        past = {"from": (begin - timedelta(hours=3)).isoformat(), "to": begin.isoformat()}
        for queue in ("default", HELD):
            hourly = await self._create(
                task="quick", name=f"hourly {queue}", schedule="every 1h", queue=queue
            )
            await self._call("POST", f"/v1/jobs/{hourly['id']}/backfill", past)

    async def _leave_running(self) -> None:
        later = await self._create(
            http={"url": f"{self._target}later", "completion": "callback"}, payload={"later": 3600}, timeout="90s",
            name="its target reports later", retry={"max_attempts": 1},
        )  # fmt: skip
        await self._until(later["execution_id"], "running")
        for task in ("gated", "gated_thread"):
            running = await self._create(
                task=task,
                payload={"gate": GATE},
                name=f"{task} runs",
                limits=[{"key": "k", "max_running": 2}],
            )
            await self._until(running["execution_id"], "running")
            await self._call("PATCH", f"/v1/jobs/{running['id']}", {"payload": {"gate": f"./{GATE}"}})
        parent = await self._create(task="gated", payload={"gate": GATE}, key="parent")
        await self._create(task="quick", name="awaits its parent", depends_on=["key:parent"])
        await self._until(parent["execution_id"], "running")
        await self._leave_to_rest_worker()

    async def _leave_to_rest_worker(self) -> None:
        rest = await self._call("POST", "/v1/workers", {"name": "rest", "tasks": ["by rest"], "slots": 1})
        job = await self._create(task="by rest", name="of a REST worker")
        await self._call("POST", f"/v1/workers/{rest['id']}/claim", {"max": 1, "wait": 20})
        await self._call("POST", f"/v1/executions/{job['execution_id']}/start", {"attempt": 1})

    async def _until_attempt(self, execution: str, attempt: int) -> None:
        async def is_so() -> bool:
            return bool((await self._call("GET", f"/v1/executions/{execution}"))["attempt"] == attempt)

        await eventually(is_so, within=_WITHIN, what=f"attempt {attempt} of {execution}")


async def _until_filled(connection: asyncpg.Connection) -> None:
    """Some rows are written by loops, a moment later."""

    async def empty() -> list[str]:
        names = [row["relname"] for row in await connection.fetch(_TABLES, sorted(PASSING))]
        has_rows = "SELECT EXISTS (SELECT FROM tickwork.{})"
        return [name for name in names if not await connection.fetchval(has_rows.format(name))]

    async def is_filled() -> bool:
        return not await empty()

    try:
        await eventually(is_filled, within=_WITHIN, what="a row in every table that is not in PASSING")
    finally:
        print("tables without a row, for support/fill_database.py:", await empty())  # noqa: T201
