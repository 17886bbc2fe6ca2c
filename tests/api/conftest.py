import httpx2
import pytest
from paper_node import PaperNode

from tickwork.api.server import build_app


@pytest.fixture
def node():
    return PaperNode()


@pytest.fixture
def caller(node):
    """Makes a client that holds the key of the given scope; None holds no key."""
    app = build_app(node)

    def client(key="admin"):
        headers = {"authorization": f"Bearer {key}"} if key else {}
        transport = httpx2.ASGITransport(app=app)
        return httpx2.AsyncClient(transport=transport, base_url="http://test", headers=headers)

    return client


@pytest.fixture
async def client(caller):
    async with caller() as client:
        yield client
