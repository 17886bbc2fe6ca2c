"""A connection that is lost before it is one."""

import pytest
from websockets.exceptions import ConnectionClosedError

from tickwork.client import worker_websocket as link
from tickwork.client.worker_websocket import WebSocketLink


async def test_a_connection_lost_in_the_middle_of_its_handshake_is_one_that_could_not_be_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A worker goes on to the next server then; any other error would end it."""

    async def lost(*_: object, **__: object) -> None:
        raise ConnectionClosedError(None, None)

    monkeypatch.setattr(link, "connect", lost)
    with pytest.raises(ConnectionError, match="cannot be reached"):
        await WebSocketLink(["http://127.0.0.1:1"], "key").connect()
