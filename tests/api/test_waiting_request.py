"""A request that waits ends when its client is gone."""

import asyncio

from paper_node import PaperNode

from tickwork.api.asgi_app import build_app
from tickwork.model.ids import worker_id


class WaitingWorkers:
    def __init__(self):
        self.began = asyncio.Event()
        self.ended = asyncio.Event()

    async def claim(self, _tenant_id, _worker, _request):
        self.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()


async def test_nobody_goes_on_waiting_for_a_client_that_is_gone():
    node = PaperNode()
    node.rest_workers = WaitingWorkers()
    messages = [{"type": "http.request", "body": b"{}"}]
    sent = []

    async def receive():
        if messages:
            return messages.pop()
        await node.rest_workers.began.wait()
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    path = f"/v1/workers/{worker_id(7)}/claim"
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", b"x"), (b"authorization", b"Bearer worker")],
    }
    async with asyncio.timeout(10):
        await build_app(node)(scope, receive, send)
    assert node.rest_workers.ended.is_set()
    assert sent == []
