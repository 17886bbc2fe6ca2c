"""A worker that speaks plain REST and does what a test tells it."""

from typing import Any

import httpx2

Json = dict[str, Any]


class RestWorker:
    def __init__(self, client: httpx2.AsyncClient, worker_id: str) -> None:
        self.client = client
        self.id = worker_id

    @classmethod
    async def register(cls, client: httpx2.AsyncClient, **fields: Any) -> "RestWorker":
        answer = await client.post("/v1/workers", json={"name": "rest", "tasks": ["work"], **fields})
        assert answer.status_code == 201, answer.text
        return cls(client, answer.json()["id"])

    def on(self, client: httpx2.AsyncClient) -> "RestWorker":
        """The same worker, talking to another node."""
        return RestWorker(client, self.id)

    async def heartbeat(self) -> Json:
        return _fine(await self.client.post(f"/v1/workers/{self.id}/heartbeat"))

    async def claim(self, most: int = 1, wait: float = 0) -> list[Json]:
        body = {"max": most, "wait": wait}
        return _fine(await self.client.post(f"/v1/workers/{self.id}/claim", json=body))["items"]

    async def report(self, run: Json, word: str, **fields: Any) -> httpx2.Response:
        path = f"/v1/executions/{run['id']}/{word}"
        return await self.client.post(path, json={"attempt": run["attempt"], **fields})

    async def start(self, run: Json) -> Json:
        return _fine(await self.report(run, "start"))

    async def complete(self, run: Json, result: Any = None) -> Json:
        return _fine(await self.report(run, "complete", result=result))

    async def fail(self, run: Json, **fields: Any) -> Json:
        error = {"type": "Broken", "message": "it broke"}
        return _fine(await self.report(run, "fail", **{"error": error, **fields}))


def _fine(answer: httpx2.Response) -> Json:
    assert answer.status_code == 200, answer.text
    return answer.json()
