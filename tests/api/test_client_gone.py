"""A request that waits ends when its client is gone."""

import asyncio

from tickwork.api.asgi_app import build_app


async def test_nobody_goes_on_waiting_for_a_client_that_is_gone(client, still_node, monkeypatch):
    worker = (await client.post("/v1/workers", json={"name": "one", "tasks": ["work"]})).json()["id"]
    messages = [{"type": "http.request", "body": b'{"wait": 20}'}]
    sent = []
    began, ended = asyncio.Event(), asyncio.Event()
    claim = still_node.rest_workers.claim

    async def watched(*args):
        began.set()
        try:
            return await claim(*args)
        finally:
            ended.set()

    monkeypatch.setattr(still_node.rest_workers, "claim", watched)

    async def receive():
        if messages:
            return messages.pop()
        await began.wait()
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    path = f"/v1/workers/{worker}/claim"
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [
            (b"host", b"x"),
            (b"authorization", f"Bearer {still_node.first_key}".encode()),
            (b"content-type", b"application/json"),
        ],
    }
    async with asyncio.timeout(10):
        await build_app(still_node)(scope, receive, send)
    assert ended.is_set()
    assert sent == []
